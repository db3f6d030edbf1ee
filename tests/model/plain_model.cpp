#include "plain_model.h"

#include <cmath>

namespace plain {

namespace {

// y[o] = Σ_i weight[o, i] x[i]
Vector product(const Vector& weight, const Vector& x) {
  const std::size_t in = x.size();
  Vector y(weight.size() / in, 0.0);
  for (std::size_t o = 0; o < y.size(); ++o) {
    for (std::size_t i = 0; i < in; ++i) y[o] += weight[o * in + i] * x[i];
  }
  return y;
}

Vector norm(const Sizes& sizes, const Parameters& parameters, const std::string& name,
            const Vector& x) {
  const auto n = static_cast<double>(x.size());
  double mean = 0;
  if (sizes.layer_norm) {
    for (const double value : x) mean += value / n;
  }
  double variance = 0;
  for (const double value : x) variance += (value - mean) * (value - mean) / n;
  Vector y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * parameters.at(name + ".weight")[i];
    if (sizes.layer_norm) y[i] += parameters.at(name + ".bias")[i];
  }
  return y;
}

void rotate(Vector& x, int d_head, int position) {
  const int heads = static_cast<int>(x.size()) / d_head;
  for (int h = 0; h < heads; ++h) {
    for (int pair = 0; pair < d_head / 2; ++pair) {
      const double angle = position / std::pow(10000.0, 2.0 * pair / d_head);
      double& even = x[static_cast<std::size_t>(h * d_head + 2 * pair)];
      double& odd = x[static_cast<std::size_t>(h * d_head + 2 * pair + 1)];
      const double turned = even * std::cos(angle) - odd * std::sin(angle);
      odd = even * std::sin(angle) + odd * std::cos(angle);
      even = turned;
    }
  }
}

// Writes to `out` what query `position` of the head at `first` takes from keys and values up to it,
// which for all heads of a group are those of the head at `shared`.
void attend_head(const Vector& q, const std::vector<Vector>& keys,
                 const std::vector<Vector>& values, std::size_t position, std::size_t first,
                 std::size_t shared, std::size_t d_head, Vector& out) {
  Vector weights;
  double total = 0;
  for (std::size_t j = 0; j <= position; ++j) {
    double score = 0;
    for (std::size_t i = 0; i < d_head; ++i) score += q[first + i] * keys[j][shared + i];
    weights.push_back(std::exp(score / std::sqrt(static_cast<double>(d_head))));
    total += weights.back();
  }
  for (std::size_t j = 0; j <= position; ++j) {
    for (std::size_t i = 0; i < d_head; ++i) {
      out[first + i] += weights[j] / total * values[j][shared + i];
    }
  }
}

void attention(const Sizes& sizes, const Parameters& parameters, const std::string& block,
               std::vector<Vector>& residual) {
  const std::string name = block + "attention.";
  const int head_size = sizes.d_model / sizes.heads;
  std::vector<Vector> q, k, v;
  for (std::size_t t = 0; t < residual.size(); ++t) {
    const Vector x = norm(sizes, parameters, block + "norm1", residual[t]);
    q.push_back(product(parameters.at(name + "q.weight"), x));
    k.push_back(product(parameters.at(name + "k.weight"), x));
    v.push_back(product(parameters.at(name + "v.weight"), x));
    if (!sizes.swiglu) continue;
    rotate(q.back(), head_size, static_cast<int>(t));
    rotate(k.back(), head_size, static_cast<int>(t));
  }
  const auto d_head = static_cast<std::size_t>(head_size);
  const auto group = static_cast<std::size_t>(sizes.heads / sizes.kv_heads);
  for (std::size_t t = 0; t < residual.size(); ++t) {
    Vector out(static_cast<std::size_t>(sizes.d_model), 0.0);
    for (std::size_t first = 0; first < out.size(); first += d_head) {
      const std::size_t shared = first / d_head / group * d_head;
      attend_head(q[t], k, v, t, first, shared, d_head, out);
    }
    const Vector projected = product(parameters.at(name + "o.weight"), out);
    for (std::size_t i = 0; i < projected.size(); ++i) residual[t][i] += projected[i];
  }
}

void feed_forward(const Sizes& sizes, const Parameters& parameters, const std::string& block,
                  Vector& residual) {
  const std::string name = block + "feed_forward.";
  const Vector x = norm(sizes, parameters, block + "norm2", residual);
  Vector hidden = product(parameters.at(name + "w1.weight"), x);
  if (sizes.swiglu) {
    const Vector up = product(parameters.at(name + "w3.weight"), x);
    for (std::size_t i = 0; i < up.size(); ++i) hidden[i] *= up[i] / (1 + std::exp(-hidden[i]));
  } else {
    for (double& h : hidden) h *= 0.5 * (1 + std::erf(h / std::sqrt(2.0)));
  }
  const Vector down = product(parameters.at(name + "w2.weight"), hidden);
  for (std::size_t i = 0; i < down.size(); ++i) residual[i] += down[i];
}

}  // namespace

Vector logits(const Sizes& sizes, const Parameters& parameters, const std::vector<int>& tokens) {
  const auto d = static_cast<std::size_t>(sizes.d_model);
  const Vector& embedding = parameters.at("embedding.weight");
  std::vector<Vector> residual;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const auto row = static_cast<std::size_t>(tokens[t]) * d;
    residual.emplace_back(embedding.begin() + static_cast<std::ptrdiff_t>(row),
                          embedding.begin() + static_cast<std::ptrdiff_t>(row + d));
    if (sizes.swiglu) continue;
    for (std::size_t i = 0; i < d; ++i) {
      residual[t][i] += parameters.at("positions.weight")[t * d + i];
    }
  }
  for (int layer = 0; layer < sizes.layers; ++layer) {
    const std::string block = "blocks." + std::to_string(layer) + ".";
    attention(sizes, parameters, block, residual);
    for (Vector& row : residual) feed_forward(sizes, parameters, block, row);
  }
  const Vector& head = sizes.swiglu ? parameters.at("head.weight") : embedding;
  Vector all;
  for (const Vector& row : residual) {
    const Vector scores = product(head, norm(sizes, parameters, "norm", row));
    all.insert(all.end(), scores.begin(), scores.end());
  }
  return all;
}

double loss(const Sizes& sizes, const Parameters& parameters,
            const std::vector<std::vector<int>>& tokens,
            const std::vector<std::vector<int>>& targets) {
  double total = 0;
  std::size_t positions = 0;
  const auto vocabulary = static_cast<std::size_t>(sizes.vocab_size);
  for (std::size_t s = 0; s < tokens.size(); ++s) {
    const Vector scores = logits(sizes, parameters, tokens[s]);
    for (std::size_t t = 0; t < tokens[s].size(); ++t) {
      double sum = 0;
      for (std::size_t v = 0; v < vocabulary; ++v) sum += std::exp(scores[t * vocabulary + v]);
      total += std::log(sum) - scores[t * vocabulary + static_cast<std::size_t>(targets[s][t])];
      ++positions;
    }
  }
  return total / static_cast<double>(positions);
}

}  // namespace plain
