import { isGroup, isKind } from '@krmhub/schema';
import type { AccessObject } from './can.js';

const PREFIXES = ['group', 'catalog', 'repository'] as const;

/** Returns what an access check is on, as `parseAccessObject` reads it. */
export function accessObjectText(object: AccessObject): string {
  if (object === 'registry') return object;
  if ('catalog' in object) return `catalog:${object.catalog}`;
  if ('repository' in object) return `repository:${object.repository}`;
  return object.kind === undefined ? object.group : `${object.group}/${object.kind}`;
}

/** Reads `registry`, `GROUP`, `GROUP/KIND`, `catalog:NAME`, or `repository:NAME`; undefined if it is none of them. */
export function parseAccessObject(text: string): AccessObject | undefined {
  if (text === 'registry') return text;
  const [prefix, name] = /^([a-z]+):(.+)$/s.exec(text)?.slice(1) ?? [undefined, text];
  if (prefix !== undefined && !PREFIXES.some((one) => one === prefix)) return undefined;
  if (prefix === 'catalog') return { catalog: name! };
  if (prefix === 'repository') return { repository: name! };
  const [group = '', kind, ...rest] = name!.split('/');
  if (!isGroup(group) || rest.length > 0) return undefined;
  if (kind === undefined) return { group };
  return isKind(kind) ? { group, kind } : undefined;
}
