import { Text } from '../parts/text.js';

/** A description of the OpenAPI document: Markdown of which only `code` is used. */
export function Description({ text }: { text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p class="field-text">
      <TextWithCode value={text} />
    </p>
  );
}

/** The text of a description, or a summary. */
export function TextWithCode({ value }: { value: string }) {
  return (
    <>
      {value.split('`').map((part, index) =>
        index % 2 === 0 ? (
          <Text value={part} />
        ) : (
          <code>
            <Text value={part} />
          </code>
        ),
      )}
    </>
  );
}
