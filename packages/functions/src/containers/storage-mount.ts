import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';

/** What a container may be given; other types and options of engines are refused. */
const TYPES = ['bind', 'volume', 'tmpfs'];
/** Names of kustomize (kyaml, `StringToStorageMount`) and of the engines. */
const KEYS: Readonly<Record<string, 'type' | 'source' | 'target' | 'rw'>> = {
  type: 'type',
  source: 'source',
  src: 'source',
  target: 'target',
  dst: 'target',
  destination: 'target',
  rw: 'rw',
};
const VOLUME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;

/**
 * Turns a mount as kustomize writes it into the value of an engine's `--mount`: read-only unless it has `rw=true`.
 * Throws `invalid-request` for everything that is not understood, because a skipped option could allow more than was
 * meant.
 */
export function mountArgument(text: string): string {
  const fields = readFields(text);
  const { type = 'bind', source, target, rw = 'false' } = fields;
  if (!TYPES.includes(type)) throw refuse(text, `the type "${type}" is not ${TYPES.join(', ')}`);
  if (rw !== 'true' && rw !== 'false') throw refuse(text, '`rw` is not `true` or `false`');
  if (target === undefined || !path.posix.isAbsolute(target)) {
    throw refuse(text, '`target` is not an absolute path');
  }
  if (type === 'bind' && (source === undefined || !path.isAbsolute(source))) {
    throw refuse(text, '`source` is not an absolute path');
  }
  if (type === 'volume' && source !== undefined && !VOLUME.test(source)) {
    throw refuse(text, '`source` is not the name of a volume');
  }
  if (type === 'tmpfs') {
    if (source !== undefined) throw refuse(text, 'a tmpfs cannot have a `source`');
    // A folder in memory that cannot be written has no use, and engines refuse `readonly` for it.
    return `type=tmpfs,target=${target}`;
  }
  const from = source === undefined ? '' : `,source=${source}`;
  return `type=${type}${from},target=${target}${rw === 'true' ? '' : ',readonly'}`;
}

function readFields(text: string): { [Name in 'type' | 'source' | 'target' | 'rw']?: string } {
  // Engines read the value as CSV, where quotes and line breaks have a meaning.
  if (/["\u0000-\u001f\u007f]/.test(text)) throw refuse(text, 'it has a quote or a control character');
  const fields: ReturnType<typeof readFields> = {};
  for (const option of text.split(',')) {
    const [, name = '', value = ''] = /^([^=]*)=(.*)$/.exec(option) ?? [];
    const key = Object.hasOwn(KEYS, name) ? KEYS[name] : undefined;
    if (key === undefined) throw refuse(text, `"${option}" is not type, source, target, or rw`);
    if (fields[key] !== undefined) throw refuse(text, `\`${key}\` appears twice`);
    if (value === '') throw refuse(text, `\`${key}\` is empty`);
    fields[key] = value;
  }
  return fields;
}

function refuse(text: string, reason: string): KrmhubError {
  return new KrmhubError('invalid-request', `cannot mount "${text}": ${reason}`, {
    hint: 'Use type=bind,source=/FOLDER,target=/FOLDER. To allow changes, add rw=true.',
  });
}
