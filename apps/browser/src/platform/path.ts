/** The part of `node:path` for paths with slashes. */
const posix = {
  normalize,
  isAbsolute: (path: string) => path.startsWith('/'),
  join: (...parts: string[]) => normalize(parts.filter((part) => part !== '').join('/')),
};

export default { posix };

function normalize(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '..' || !path.startsWith('/')) parts.push(part);
  }
  const inner = parts.join('/');
  if (path.startsWith('/')) return `/${inner}`;
  return inner === '' ? '.' : inner + (path.endsWith('/') ? '/' : '');
}
