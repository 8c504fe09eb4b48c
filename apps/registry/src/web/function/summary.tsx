import type { FunctionVersion } from '@krmhub/schema';
import { Label, type Tone } from '../parts/label.js';
import { ShortSigner } from '../parts/signer.js';
import type { FunctionView } from './read-function.js';
import { signatureLabel } from './signature-states.js';

/** Shows signer and permissions first, each with a link to the details. */
export function Summary({ view: { known, version } }: { view: FunctionView }) {
  const signature = known && signatureLabel(known.verdict);
  const touched = permissions(version.version);
  return (
    <ul class="function-facts">
      {signature === undefined ? null : (
        <li>
          <a href="#signatures">Signature</a>{' '}
          <Label tone={signature.tone} title={signature.title}>
            {signature.words}
          </Label>
          {signature.by === undefined ? null : (
            <>
              {' '}
              <ShortSigner value={signature.by} />
            </>
          )}
        </li>
      )}
      <li>
        <a href="#runtime">May touch</a> <Label tone={touched.tone}>{touched.words}</Label>
      </li>
    </ul>
  );
}

/** Returns in a few words what a function can access besides its input. */
export function permissions({ runtime: { container, exec } }: Pick<FunctionVersion, 'runtime'>): {
  words: string;
  tone: Tone;
} {
  if (exec !== undefined) return { words: 'everything your user can access', tone: 'warning' };
  const words = [
    ...(container?.requireNetwork === true ? ['the network'] : []),
    ...(container?.requireStorageMount === true ? ['folders that you mount'] : []),
  ];
  return words.length === 0
    ? { words: 'only its input', tone: 'plain' }
    : { words: words.join(' and '), tone: 'warning' };
}
