import { formatPath } from '../../diagnostics/diagnostic.js';
import { keyword } from '../../json-schema/open-api.js';
import type { SchemaCheck } from './nodes.js';

const NAMED = 3;
/** Fields of every resource, which need no description. */
const META = new Set(['apiVersion', 'kind', 'metadata']);

/** Reports the fields without a description, with one finding per schema. */
export const descriptions: SchemaCheck = (nodes, report) => {
  const root = nodes[0];
  if (root === undefined) return;
  const bare = nodes.filter(({ schema, level, path }) => {
    if (level !== 'field') return false;
    const below = path.slice(root.path.length);
    if (below[0] === 'properties' && META.has(String(below[1]))) return false;
    const description = keyword(schema, 'description');
    return typeof description !== 'string' || description.trim() === '';
  });
  if (bare.length === 0) return;
  const fields = nodes.filter(({ level }) => level === 'field').length;
  const names = bare.slice(0, NAMED).map(({ path }) => fieldName(path.slice(root.path.length)));
  const more = bare.length > NAMED ? ` and ${bare.length - NAMED} more` : '';
  const message = `${bare.length} of ${fields} fields have no description: ${names.join(', ')}${more}`;
  report('schema/undescribed', bare[0]!.path, message, { target: 'key' });
};

/** Returns `a[].b` for `properties.a.items.properties.b`. */
function fieldName(path: readonly (string | number)[]): string {
  let name = '';
  for (let index = 0; index < path.length; index++) {
    const step = path[index]!;
    if (step === 'properties') {
      index++;
      const field = formatPath([path[index]!]);
      name += name === '' || field.startsWith('[') ? field : `.${field}`;
    } else if (step === 'items') name += '[]';
    else if (step === 'additionalProperties') name += '.*';
  }
  return name;
}
