import { ATTESTATION_TYPES, type AttestationType } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { PolicyField } from './fields.js';
import { readSigners } from './read-signers.js';
import { POLICY_LIMITS, type RequiredAttestation } from './signing-policy.js';

const TYPES = Object.keys(ATTESTATION_TYPES) as AttestationType[];
const BUILD_FIELDS = ['builder', 'repository'] as const;

/** Reads the attestations that a policy requires; undefined if it requires none, or with an error. */
export function readAttestations(field: PolicyField | undefined): RequiredAttestation[] | undefined {
  const list = field?.list(POLICY_LIMITS.maxAttestations);
  if (list?.length === 0) field?.report('policy/missing-field', 'the list of attestations is empty');
  return list?.flatMap((item) => {
    const read = item.mapping({ required: ['type'], optional: [...BUILD_FIELDS, 'signers'] });
    return (read && readAttestation(read)) ?? [];
  });
}

function readAttestation(item: PolicyField): RequiredAttestation | undefined {
  const written = item.get('type')?.text();
  const type = TYPES.find((one) => one === written);
  const signers = readSigners(item.get('signers'));
  if (written !== undefined && type === undefined) {
    const hint = `Use one of: ${TYPES.join(', ')}.`;
    item.get('type')?.report('policy/attestation', `"${written}" is not a type of attestations`, { hint });
  }
  if (type === undefined) return undefined;
  if (type !== 'provenance') {
    for (const name of BUILD_FIELDS) {
      item
        .get(name)
        ?.report('policy/attestation', `\`${name}\` is only for \`type: provenance\``, { target: 'key' });
    }
    return { type, ...defined({ signers }) };
  }
  const [builder, repository] = BUILD_FIELDS.map((name) => {
    const value = item.get(name);
    if (value === undefined) item.report('policy/missing-field', `\`${name}\` is missing`);
    return value?.text();
  });
  if (builder === undefined || repository === undefined) return undefined;
  return { type, builder, repository, ...defined({ signers }) };
}
