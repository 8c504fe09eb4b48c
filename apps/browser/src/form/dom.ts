type Child = Node | string | null;

interface Properties {
  class?: string;
  text?: string;
  attributes?: Readonly<Record<string, string>>;
  on?: Readonly<Record<string, (event: Event) => void>>;
}

/** Creates an element. Text is never read as HTML. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  { class: className, text, attributes = {}, on = {} }: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const created = document.createElement(name);
  if (className !== undefined) created.className = className;
  if (text !== undefined) created.textContent = text;
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  for (const [event, listener] of Object.entries(on)) created.addEventListener(event, listener);
  created.append(...children.filter((child) => child !== null));
  return created;
}

let ids = 0;

/** Returns an ID that no other element has. */
export function newId(): string {
  ids += 1;
  return `try-${ids}`;
}

export function button(text: string, onClick: () => void, label = text): HTMLButtonElement {
  const attributes = label === text ? { type: 'button' } : { type: 'button', 'aria-label': label };
  return element('button', { text, attributes, on: { click: onClick } });
}
