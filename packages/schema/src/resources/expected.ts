import { YamlError } from '@krmhub/yaml/error';
import { defined } from '../defined.js';
import { KrmhubError } from '../diagnostics/error.js';

/** A function that throws `invalid-document` where another throws a `YamlError`. */
export function expected<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => R {
  return (...args) => {
    try {
      return work(...args);
    } catch (error) {
      if (!(error instanceof YamlError)) throw error;
      const { message, hint } = error;
      throw new KrmhubError('invalid-document', message, { cause: error, ...defined({ hint }) });
    }
  };
}
