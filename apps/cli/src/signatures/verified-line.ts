import { describeSigner, describeSource } from '@krmhub/catalog';
import { escapeControls } from '@krmhub/schema/text';
import type { Signer } from '@krmhub/signing';

/**
 * Returns the line for a verified artifact: what it is, as which release or snapshot, who signed it, and by which
 * policy, and what it was built from.
 */
export function verifiedLine(
  what: string,
  {
    name,
    signer,
    cosigners = [],
    policy,
  }: { name: string | undefined; signer: Signer; cosigners?: readonly Signer[]; policy?: string },
): string {
  const as = name === undefined ? '' : ` as ${name}`;
  const by = policy === undefined ? '' : `, policy ${policy}`;
  const source = signer.type === 'identity' ? describeSource(signer.source) : undefined;
  const built = source === undefined ? '' : `, ${source}`;
  return escapeControls(
    `verified ${what}${as}: signed by ${[signer, ...cosigners].map(describeSigner).join(' and ')}${by}${built}`,
  );
}
