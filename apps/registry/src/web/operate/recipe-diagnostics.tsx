import type { Diagnostic } from '@krmhub/api/model';
import { Words } from '../error/error-page.js';
import { Label, type Tone } from '../parts/label.js';
import { Text } from '../parts/text.js';

const TONES: Readonly<Record<Diagnostic['severity'], Tone>> = {
  error: 'danger',
  warning: 'warning',
  info: 'plain',
};

/** Lists the diagnostics of a YAML text, such as a recipe, with their positions. */
export function RecipeDiagnostics({
  diagnostics,
  text,
}: {
  diagnostics: readonly Diagnostic[];
  text: string;
}) {
  if (diagnostics.length === 0) return null;
  const lines = text.split('\n');
  return (
    <section aria-labelledby="problems">
      <h2 id="problems">
        {diagnostics.length} {diagnostics.length === 1 ? 'problem' : 'problems'}
      </h2>
      <ol class="operate-list">
        {diagnostics.map(({ severity, code, message, path, range, hint }) => (
          <li>
            <p>
              <Label tone={TONES[severity]}>{severity}</Label>{' '}
              {range === undefined ? null : (
                <b>
                  line {range.start.line}, column {range.start.column}:{' '}
                </b>
              )}
              <Words text={message.slice(0, 1_000)} />
            </p>
            {range === undefined ? null : (
              <pre tabindex={0}>
                <code>
                  {range.start.line} | <Text value={lines[range.start.line - 1] ?? ''} max={200} />
                </code>
              </pre>
            )}
            <p class="quiet">
              {path === '' ? null : (
                <>
                  <code>
                    <Text value={path} max={200} />
                  </code>
                  {' · '}
                </>
              )}
              <code>{code}</code>
              {hint === undefined ? null : (
                <>
                  {' · '}
                  <Words text={hint.slice(0, 500)} />
                </>
              )}
            </p>
          </li>
        ))}
      </ol>
    </section>
  );
}
