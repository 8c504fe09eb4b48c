import {
  ARCHITECTURES,
  type Architecture,
  type JsonValue,
  OPERATING_SYSTEMS,
  type OperatingSystem,
} from '../documents/definition.js';
import { field, isObject, listField, textField } from '../json/access.js';
import { stringItems } from './conversion.js';

export interface Platform {
  os: OperatingSystem;
  arch: Architecture;
}

const PLATFORMS: readonly Platform[] = OPERATING_SYSTEMS.flatMap((os) =>
  ARCHITECTURES.map((arch) => ({ os, arch })),
);

/**
 * Returns the platforms that a Krew selector matches: a Kubernetes label selector over `os` and `arch`. Without a
 * selector, every platform matches.
 */
export function selectPlatforms(selector: JsonValue | undefined): Platform[] {
  return PLATFORMS.filter((platform) => matches(selector, platform));
}

function matches(selector: JsonValue | undefined, platform: Platform): boolean {
  const labels: Record<string, string> = { os: platform.os, arch: platform.arch };
  const readLabel = (key: string) => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  const matchLabels = field(selector, 'matchLabels');
  if (isObject(matchLabels)) {
    if (!Object.entries(matchLabels).every(([key, value]) => readLabel(key) === value)) return false;
  }
  return listField(selector, 'matchExpressions').every((expression) => {
    const value = readLabel(textField(expression, 'key') ?? '');
    const values = stringItems(field(expression, 'values'));
    switch (field(expression, 'operator')) {
      case 'In':
        return value !== undefined && values.includes(value);
      case 'NotIn':
        return value === undefined || !values.includes(value);
      case 'Exists':
        return value !== undefined;
      case 'DoesNotExist':
        return value === undefined;
      default:
        return false;
    }
  });
}

/** Describes a selector for messages. */
export function describeSelector(selector: JsonValue | undefined): string {
  const labels = field(selector, 'matchLabels');
  const parts = isObject(labels)
    ? Object.entries(labels).map(([key, value]) => `${key} ${String(value)}`)
    : [];
  for (const expression of listField(selector, 'matchExpressions')) {
    const operator = textField(expression, 'operator') ?? '';
    parts.push(
      `${textField(expression, 'key') ?? ''} ${operator} ${stringItems(field(expression, 'values')).join(', ')}`,
    );
  }
  return parts.length === 0 ? 'an empty selector' : parts.join(', ');
}
