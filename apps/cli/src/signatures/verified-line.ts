import { describeSigner } from '@krmhub/catalog';
import { escapeControls } from '@krmhub/schema/text';
import type { Signer } from '@krmhub/signing';

/**
 * Returns the line for a verified artifact: what it is, as which release or snapshot, who signed it, and by which
 * policy.
 */
export function verifiedLine(
  what: string,
  { name, signer, policy }: { name: string | undefined; signer: Signer; policy?: string },
): string {
  const as = name === undefined ? '' : ` as ${name}`;
  const by = policy === undefined ? '' : `, policy ${policy}`;
  return escapeControls(`verified ${what}${as}: signed by ${describeSigner(signer)}${by}`);
}
