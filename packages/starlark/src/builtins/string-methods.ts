import { type MethodBody, methodTable } from '../values/builtin.js';
import { checkPositional } from '../values/unpack-arguments.js';
import { CASE_METHODS } from './string-case.js';
import { formatMethod } from './string-format.js';
import { SEARCH_METHODS } from './string-search.js';
import { SPLIT_METHODS } from './string-split.js';
import { Elements } from './strings.js';

const elementsMethod =
  (name: 'elems' | 'elem_ords' | 'codepoints' | 'codepoint_ords'): MethodBody<string> =>
  (_thread, text, args, kwargs) => {
    checkPositional(name, args, kwargs, 0, 0);
    return new Elements(text, name);
  };

export const STRING_METHODS = methodTable<string>([
  ...CASE_METHODS,
  ...SEARCH_METHODS,
  ...SPLIT_METHODS,
  ['codepoint_ords', elementsMethod('codepoint_ords')],
  ['codepoints', elementsMethod('codepoints')],
  ['elem_ords', elementsMethod('elem_ords')],
  ['elems', elementsMethod('elems')],
  ['format', formatMethod],
]);
