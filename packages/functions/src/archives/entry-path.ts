import { KrmhubError } from '@krmhub/schema/error';

const MAX_PATH_LENGTH = 1_024;

/**
 * Returns the path of an archive entry below the folder of the archive, without `.` parts; `''` is that folder. Throws
 * for a path that leaves it: absolute paths, `..`, and what other systems read as such.
 */
export function entryPath(name: string): string {
  if (name.length > MAX_PATH_LENGTH)
    throw badArchive(`it has a path of more than ${MAX_PATH_LENGTH} characters`);
  if (/[\u0000-\u001f\u007f]/.test(name))
    throw badArchive(`it has the path ${shown(name)} with a control character`);
  if (/^[/\\]|^[A-Za-z]:/.test(name)) throw badArchive(`it has the absolute path ${shown(name)}`);
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.split(/[/\\]/).includes('..')) throw badArchive(`the path ${shown(name)} is outside the archive`);
  return parts.join('/');
}

/** Throws if the target of a symbolic link, relative to the folder of its entry, leaves the folder of the archive. */
export function checkLink(name: string, target: string): void {
  const from = entryPath(name).split('/').slice(0, -1);
  const isOutside =
    /^[/\\]|^[A-Za-z]:|[\u0000-\u001f\u007f]/.test(target) ||
    target.split(/[/\\]/).reduce((depth, part) => {
      // Once outside, a link stays outside.
      if (depth < 0 || part === '' || part === '.') return depth;
      return part === '..' ? depth - 1 : depth + 1;
    }, from.length) < 0;
  if (isOutside)
    throw badArchive(`it has the link ${shown(name)} to ${shown(target)}, which is outside the archive`);
}

/** The error for an archive that is not unpacked. */
export function badArchive(reason: string, cause?: unknown): KrmhubError {
  return new KrmhubError('invalid-document', `cannot unpack the archive: ${reason}`, {
    hint: 'Ask the publisher of the function for an archive with only its program.',
    cause,
  });
}

/** A name of the archive for use in a message. */
export function shown(name: string): string {
  const visible = name.replace(/[\u0000-\u001f\u007f-\u009f]/g, '�');
  return `"${visible.length > 80 ? `${visible.slice(0, 79)}…` : visible}"`;
}
