#pragma once

#include <string_view>

namespace assay::kernels {

// The script within the picture. Frames are groups with data-x and data-w, in parts of the whole,
// data-d, their depth, and data-n, their name.
constexpr std::string_view flame_script = R"js(
(function () {
  "use strict";
  var svg = document.currentScript.closest("svg");
  var width = 1160, left = 20, character = 6.6;
  var frames = Array.prototype.slice.call(svg.querySelectorAll("g.frame"));
  var reset = svg.querySelector(".reset"), found = svg.querySelector(".found");
  var ask = svg.querySelector(".ask");
  var zoomed = frames[0], pattern = "";

  function number(frame, key) { return parseFloat(frame.getAttribute("data-" + key)); }
  function place(frame) {
    var x0 = number(zoomed, "x"), scale = width / number(zoomed, "w");
    var x = number(frame, "x"), w = number(frame, "w"), end = x0 + number(zoomed, "w");
    var around = number(frame, "d") < number(zoomed, "d");
    var seen = x + w > x0 + 1e-12 && x < end - 1e-12;
    var begin = Math.max(x, x0), stop = Math.min(x + w, end);
    frame.style.display = seen ? "" : "none";
    frame.style.opacity = around && seen ? 0.5 : 1;
    if (!seen) return;
    var wide = (stop - begin) * scale;
    var box = frame.querySelector("rect"), text = frame.querySelector("text");
    box.setAttribute("x", (left + (begin - x0) * scale).toFixed(2));
    box.setAttribute("width", Math.max(wide - 0.5, 0.2).toFixed(2));
    text.setAttribute("x", (left + (begin - x0) * scale + 3).toFixed(2));
    var name = frame.getAttribute("data-n"), room = Math.floor((wide - 6) / character);
    text.textContent = room < 3 ? "" : name.length <= room ? name : name.slice(0, room - 1) + "\u2026";
  }
  function remember() {
    var parts = [];
    if (zoomed !== frames[0]) parts.push("zoom=" + frames.indexOf(zoomed));
    if (pattern) parts.push("search=" + encodeURIComponent(pattern));
    try { history.replaceState(null, "", parts.length ? "#" + parts.join("&") : "#"); } catch (refused) {}
  }
  function zoom(frame) {
    zoomed = frame;
    frames.forEach(place);
    reset.style.display = frame === frames[0] ? "none" : "";
    remember();
  }
  function matcher(text) {
    try { return new RegExp(text, "i"); }
    catch (wrong) { return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i"); }
  }
  function search(text) {
    pattern = text || "";
    var expression = pattern ? matcher(pattern) : null, stretches = [];
    frames.forEach(function (frame) {
      var hit = expression !== null && expression.test(frame.getAttribute("data-n"));
      frame.classList.toggle("hit", hit);
      if (hit) stretches.push([number(frame, "x"), number(frame, "x") + number(frame, "w")]);
    });
    stretches.sort(function (a, b) { return a[0] - b[0]; });
    var sum = 0, end = 0;
    stretches.forEach(function (each) {
      sum += Math.max(0, each[1] - Math.max(each[0], end));
      end = Math.max(end, each[1]);
    });
    found.textContent = pattern ? pattern + ": " + (100 * sum / number(frames[0], "w")).toFixed(1) + " %" : "";
    ask.textContent = pattern ? "clear search" : "search";
    remember();
  }
  frames.forEach(function (frame) {
    frame.addEventListener("click", function () { zoom(frame); });
  });
  reset.addEventListener("click", function () { zoom(frames[0]); });
  ask.addEventListener("click", function () {
    search(pattern ? "" : window.prompt("Frames whose name matches (a regular expression):", ""));
  });
  window.addEventListener("keydown", function (key) {
    if (key.key === "Escape") { search(""); zoom(frames[0]); }
    if (key.key === "f" && (key.ctrlKey || key.metaKey)) {
      key.preventDefault();
      search(window.prompt("Frames whose name matches (a regular expression):", pattern));
    }
  });
  var kept = {};
  (location.hash || "").slice(1).split("&").forEach(function (part) {
    var equals = part.indexOf("=");
    if (equals > 0) kept[part.slice(0, equals)] = decodeURIComponent(part.slice(equals + 1));
  });
  zoom(frames[parseInt(kept.zoom, 10)] || frames[0]);
  search(kept.search || "");
  svg.assayFlame = { zoom: zoom, search: search, frames: frames };
})();
)js";

}  // namespace assay::kernels
