import { methodTable } from '../values/builtin.js';
import type { Bytes } from '../values/bytes.js';
import { checkPositional } from '../values/unpack-arguments.js';
import { Elements } from './strings.js';

export const BYTES_METHODS = methodTable<Bytes>([
  [
    'elems',
    (_thread, bytes, args, kwargs) => {
      checkPositional('elems', args, kwargs, 0, 0);
      return new Elements(bytes, 'elems');
    },
  ],
]);
