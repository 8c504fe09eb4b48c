import path from 'node:path';
import { mountArgument } from '@krmhub/functions/containers/storage-mount';
import { defined } from '@krmhub/schema/defined';
import { KrmhubError } from '@krmhub/schema/error';

/** Makes the source of a mount absolute, and checks the mount. Throws `usage`. */
export function absoluteMount(text: string, folder: string): string {
  const isBind = !/(?:^|,)type=(?!bind(?:,|$))/.test(text);
  const mount = isBind
    ? text.replace(/((?:^|,)(?:source|src)=)([^,]*)/g, (_, name: string, source: string) =>
        source === '' ? name : `${name}${path.resolve(folder, source)}`,
      )
    : text;
  try {
    mountArgument(mount);
    return mount;
  } catch (error) {
    if (!(error instanceof KrmhubError)) throw error;
    throw new KrmhubError('usage', error.message, defined({ hint: error.hint }));
  }
}
