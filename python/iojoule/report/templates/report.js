// Draws every figure from the JSON beside it, in the colours of the page, and again when those change.
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = () => window.innerWidth < 600;
  const config = {
    responsive: true, displaylogo: false, showTips: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
  };

  function paper(layout) {
    const styles = getComputedStyle(document.documentElement);
    const ink = styles.getPropertyValue("--ink").trim();
    const line = styles.getPropertyValue("--line").trim();
    const whole = structuredClone(layout);
    Object.assign(whole, {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: narrow() ? 11 : 13, color: ink },
      margin: { l: narrow() ? 48 : 62, r: 12, t: 30, b: 48 },
      legend: { orientation: "h", x: 0, xanchor: "left", y: 0, yref: "container", yanchor: "bottom", traceorder: "normal" },
      hoverlabel: { bgcolor: styles.getPropertyValue("--card").trim(), bordercolor: line, font: { color: ink } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: line, activecolor: ink },
      autosize: true,
    });
    for (const key of Object.keys(whole).filter((name) => /^[xy]axis/.test(name))) {
      whole[key] = Object.assign({
        gridcolor: line, zerolinecolor: line, linecolor: line, ticks: "outside", tickcolor: line, automargin: true,
      }, whole[key]);
    }
    return whole;
  }

  // A phase's name is written only where it has room.
  function named(layout, data, width) {
    const times = data.flatMap((trace) => trace.x.filter((value) => value !== null));
    const shown = times.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    const perSecond = (width - 74) / (shown[1] - shown[0]);
    return (layout.annotations || []).filter((note, i) => {
      const shape = layout.shapes[i];
      return (shape.x1 - shape.x0) * perSecond > 5 * note.text.length;
    });
  }

  function draw() {
    for (const source of document.querySelectorAll("script.figure")) {
      const figure = JSON.parse(source.textContent);
      const box = document.getElementById(source.dataset.for);
      const layout = paper(figure.layout);
      layout.annotations = named(figure.layout, figure.data, box.clientWidth);
      Plotly.react(box, figure.data, layout, config);
    }
  }

  draw();
  dark.addEventListener("change", draw);
})();
