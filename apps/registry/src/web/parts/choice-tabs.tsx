import type { Child } from 'hono/jsx';

export interface Choice {
  /** Unique on the page; a fragment that leads here. */
  id: string;
  title: string;
  body: Child;
}

/** Shows one of several parts, which radio buttons and the style sheet choose without a script. Print shows all. */
export function ChoiceTabs({
  name,
  legend,
  choices,
}: {
  name: string;
  legend: string;
  choices: readonly Choice[];
}) {
  return (
    <fieldset class="choice-tabs">
      <legend class="unseen">{legend}</legend>
      {choices.map(({ id, title }, index) => (
        <>
          <input type="radio" class="unseen" name={name} id={`${id}-choice`} checked={index === 0} />
          <label for={`${id}-choice`} id={id}>
            {title}
          </label>
        </>
      ))}
      {choices.map(({ title, body }) => (
        <div class="choice-panel">
          <h3>{title}</h3>
          {body}
        </div>
      ))}
    </fieldset>
  );
}
