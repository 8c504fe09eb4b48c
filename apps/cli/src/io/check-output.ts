import { KrmhubError } from '@krmhub/schema/error';
import type { OutputFormat } from './print.js';

/** Throws `usage` if both a document and the report of the command would go to stdout. */
export function checkOutput(
  example: string,
  { out = '-', output }: { out?: string; output: OutputFormat },
): void {
  if (out !== '-' || output === 'table') return;
  throw new KrmhubError('usage', `-o ${output} requires --out: both would write to stdout`, {
    hint: `Write the documents to a file or folder, for example: --out ${example}`,
  });
}
