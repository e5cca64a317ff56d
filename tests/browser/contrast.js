// WCAG 2.2, 1.4.3: 4.5 to 1, for large text 3 to 1. Colours as they are computed, laid over what is behind them.
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const ground = (e) => {
    if (!e) return rgba(matchMedia("(prefers-color-scheme: dark)").matches ? "black" : "white");
    const own = rgba(getComputedStyle(e).backgroundColor);
    return own[3] === 1 ? own : over(own, ground(e.parentElement));
  };
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (e.closest("textarea, title, option, .skip, script, style") || e.closest("button:disabled")) continue;
    const style = getComputedStyle(e);
    const inSvg = e instanceof SVGElement;
    const behind = ground(inSvg ? e.closest("svg") : e);
    const ink = over(rgba(inSvg ? style.fill : style.color), behind);
    const [a, b] = [light(ink), light(behind)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (ratio < least) found.push(`${ratio.toFixed(2)}: ${walker.currentNode.textContent.trim().slice(0, 40)} (${e.tagName} ${e.getAttribute("class") ?? ""})`);
  }
  return [...new Set(found)];
}
