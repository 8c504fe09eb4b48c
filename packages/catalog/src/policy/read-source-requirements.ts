import type { SourceField, SourceRequirements } from '@krmhub/schema';
import { SOURCE_REQUIREMENTS } from '@krmhub/schema/documents/signer';
import type { PolicyField } from './fields.js';
import { SOURCE_FIELDS, SOURCE_FORMS } from './source-requirements.js';

/** Reads what a signer requires of the source; undefined with an error. */
export function readSourceRequirements(signer: PolicyField): SourceRequirements | undefined {
  const required: SourceRequirements = {};
  for (const name of SOURCE_FIELDS) {
    const field = signer.get(name);
    if (field === undefined) continue;
    const text = readText(name, field);
    if (text === undefined) return undefined;
    required[name] = text;
  }
  return required;
}

function readText(name: SourceField, field: PolicyField): string | undefined {
  const { value } = field;
  // IDs are numbers in most documents of CI providers.
  const isNumber =
    name.endsWith('Id') && typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
  const text = isNumber ? String(value) : field.text();
  if (text === undefined || SOURCE_FORMS[name]?.test(text) !== false) return text;
  const { meaning, example } = SOURCE_REQUIREMENTS[name];
  field.report('policy/source', `"${text}" is not the ${meaning.split(';')[0]}`, {
    hint: `Use, for example, \`${example}\`.`,
  });
  return undefined;
}
