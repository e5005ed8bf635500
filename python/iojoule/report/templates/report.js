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
    if (layout.meta || !layout.annotations) return layout.annotations || [];
    const times = data.flatMap((trace) => trace.x.filter((value) => value !== null));
    const shown = times.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
    const perSecond = (width - 74) / (shown[1] - shown[0]);
    return (layout.annotations || []).filter((note, i) => {
      const shape = layout.shapes[i];
      return (shape.x1 - shape.x0) * perSecond > 5 * note.text.length;
    });
  }

  // Small multiples: as many beside each other as there is room for, axis titles only at the left and at the bottom.
  function arranged(layout, box) {
    const { panels, height } = layout.meta;
    const width = box.clientWidth, bar = layout.coloraxis ? 74 : 12, legend = layout.coloraxis ? 0 : 46;
    const columns = Math.min(panels, width < 620 ? 1 : width < 1000 ? 2 : panels % 3 === 0 || panels > 4 && panels % 4 ? 3 : panels % 2 ? 1 : 2);
    const rows = Math.ceil(panels / columns);
    const titled = { top: 26, below: 44 };
    layout.margin = { l: 62, r: bar, t: 8, b: 8 + legend };
    layout.height = rows * (height + titled.top + titled.below) + 8 + 8 + legend;
    const inner = { w: width - 62 - bar, h: layout.height - 16 - legend };
    const gap = 66 / inner.w;
    for (let i = 0; i < panels; i++) {
      const column = i % columns, row = Math.floor(i / columns);
      const share = (1 - gap * (columns - 1)) / columns, left = column * (share + gap);
      const top = 1 - (row * (height + titled.top + titled.below) + titled.top) / inner.h;
      const x = layout[`xaxis${i + 1}`], y = layout[`yaxis${i + 1}`];
      x.domain = [left, left + share];
      y.domain = [top - height / inner.h, top];
      x.automargin = y.automargin = false;
      if (column) y.title = { text: "" };
      if (i + columns < panels) x.title = { text: "" };
      Object.assign(layout.annotations[i], { x: left, y: top });
    }
    if (layout.coloraxis) Object.assign(layout.coloraxis.colorbar, { len: 1, y: 0.5, x: 1.01, xpad: 4 });
    box.style.minHeight = `${layout.height}px`;
  }

  function draw() {
    for (const source of document.querySelectorAll("script.figure")) {
      const figure = JSON.parse(source.textContent);
      const box = document.getElementById(source.dataset.for);
      const layout = paper(figure.layout);
      layout.annotations = named(layout, figure.data, box.clientWidth);
      if (layout.meta) arranged(layout, box);
      Plotly.react(box, figure.data, layout, config);
    }
  }

  draw();
  dark.addEventListener("change", draw);
  let drawn = window.innerWidth;
  window.addEventListener("resize", () => {
    if (Math.abs(window.innerWidth - drawn) < 40) return;
    drawn = window.innerWidth;
    draw();
  });
})();
