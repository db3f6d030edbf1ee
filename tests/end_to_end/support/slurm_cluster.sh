#!/bin/sh
# slurm_cluster.sh FOLDER COMMAND…: runs the command within an allocation of two nodes of a Slurm
# cluster that lives in FOLDER, on this machine, as long as the command. Needs root, munge and
# slurm-wlm; exit code 77 where they are missing.
set -u
folder=$1
shift
export PATH=$PATH:/usr/sbin
[ "$(id -u)" = 0 ] || { echo "a cluster of its own needs root" && exit 77; }
for program in munged slurmctld slurmd salloc; do
  command -v $program >/dev/null || { echo "$program is not installed (munge, slurm-wlm)" && exit 77; }
done
mkdir -p "$folder/state" && chmod 755 "$folder" && cd "$folder" || exit 1
host=$(hostname)
# Three free ports: of the controller and of each node.
base=$((20000 + $$ % 20000))

stop() {
  for file in slurmd.n1.pid slurmd.n2.pid slurmctld.pid munged.pid; do
    [ ! -s $file ] || kill -KILL "$(cat $file)" 2>/dev/null
  done
}
trap stop EXIT

dd if=/dev/urandom of=munge.key bs=1024 count=1 2>/dev/null && chmod 400 munge.key
munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
  --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" || exit 77
cat >slurm.conf <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((base + 1))-$((base + 2))] CPUs=4 RealMemory=1000
PartitionName=all Nodes=n[1-2] Default=YES MaxTime=10 State=UP
CONF
export SLURM_CONF="$folder/slurm.conf"
slurmctld && slurmd -N n1 && slurmd -N n2 || { tail -n 3 "$folder"/*.log; exit 77; }
waited=0
until [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ]; do
  waited=$((waited + 1))
  [ $waited -lt 200 ] || { echo "the nodes do not come up:" && sinfo && tail -n 3 "$folder"/*.log && exit 77; }
  sleep 0.05
done
cd "$OLDPWD" || exit 1
salloc --quiet --nodes=2 --ntasks-per-node=2 "$@"
