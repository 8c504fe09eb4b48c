import type { Environment } from '@krmhub/consume/ports';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';

/**
 * Returns 1970 or SOURCE_DATE_EPOCH (reproducible-builds.org), never the current time, so that the same input gets the
 * same digest.
 */
export function creationTime(io: Environment): string {
  const epoch = io.env.SOURCE_DATE_EPOCH ?? '';
  if (epoch !== '' && !/^\d{1,11}$/.test(epoch)) {
    throw new KrmhubError(
      'usage',
      `SOURCE_DATE_EPOCH is not a Unix time in seconds: "${escapeControls(epoch)}"`,
      {
        hint: 'Unset it, or set it to a Unix time, for example: SOURCE_DATE_EPOCH=1893456000',
      },
    );
  }
  return new Date(Number(epoch) * 1_000).toISOString().replace('.000Z', 'Z');
}
