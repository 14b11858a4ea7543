// Offers every figure of the page as SVG and PNG, in light colours on white. Nothing is loaded or sent.
addEventListener('load', () => {
  const figures = [...document.querySelectorAll('svg[role=img]')];
  if (figures.length === 0) return;
  const sheet = document.querySelector('style').textContent;
  const light = {};
  for (const [, name, colour] of sheet.split('}')[0].matchAll(/--(\w+):([^;]+);/g)) light[name] = colour;
  const rules = sheet.split('\n').filter(rule => rule.startsWith('svg')).join('\n')
    .replace(/var\(--(\w+)\)/g, (_, name) => light[name]);
  const part = (name, attributes) => {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  const address = figure => {
    const copy = figure.cloneNode(true), size = figure.viewBox.baseVal;
    const style = part('style', {});
    style.textContent = rules;
    copy.prepend(style, part('rect', {width: size.width, height: size.height, fill: '#ffffff'}));
    return 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(new XMLSerializer().serializeToString(copy));
  };
  const save = (name, url) => {
    const link = document.createElement('a');
    link.download = name;
    link.href = url;
    link.click();
  };
  const picture = (figure, name) => {
    const image = new Image(), size = figure.viewBox.baseVal;
    image.addEventListener('load', () => {
      const canvas = document.createElement('canvas');
      canvas.width = 3 * size.width;
      canvas.height = 3 * size.height;
      canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
      save(name, canvas.toDataURL('image/png'));
    });
    image.src = address(figure);
  };
  const list = document.createElement('ul');
  figures.forEach((figure, k) => {
    const title = figure.getAttribute('aria-label');
    const stem = String(k + 1).padStart(2, '0') + '-' + title.toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, 60);
    const button = (text, click) => {
      const made = document.createElement('button');
      made.textContent = text;
      made.addEventListener('click', click);
      return made;
    };
    const item = document.createElement('li');
    item.append(title + ' ', button('SVG', () => save(stem + '.svg', address(figure))), ' ',
      button('PNG', () => picture(figure, stem + '.png')));
    list.append(item);
  });
  const box = document.createElement('details'), summary = document.createElement('summary');
  summary.textContent = 'Save figures';
  box.className = 'save';
  box.append(summary, list);
  document.querySelector('main').append(box);
});
