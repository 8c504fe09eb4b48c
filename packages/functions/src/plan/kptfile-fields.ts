import type { JsonValue } from '@krmhub/schema/definition';
import { formatPath, type Path } from '@krmhub/schema/diagnostic';
import { describeValue } from '@krmhub/schema/diagnostics/describe-value';

/** What a field of a Kptfile holds. */
export type FieldType =
  | 'string'
  | 'any'
  | { fields: Readonly<Record<string, FieldType>> }
  | { list: FieldType }
  | { values: 'string' };

const TEXTS: FieldType = { values: 'string' };

const GIT: FieldType = {
  fields: { repo: 'string', directory: 'string', ref: 'string' },
};

/** The version of kpt whose fields krmhub knows. */
export const KPT_VERSION = '1.0';

const SELECTOR = {
  fields: {
    apiVersion: 'string',
    // Only in the design document of kpt: its releases reject the field.
    group: 'string',
    kind: 'string',
    name: 'string',
    namespace: 'string',
    labels: TEXTS,
    annotations: TEXTS,
    // Of a step in kpt 1.0.0, and then of a selector.
    resourceFileRegexp: 'string',
  },
} as const satisfies FieldType;

const FUNCTION: FieldType = {
  fields: {
    image: 'string',
    exec: 'string',
    configPath: 'string',
    configMap: TEXTS,
    configRef: {
      fields: { apiVersion: 'string', kind: 'string', name: 'string', namespace: 'string' },
    },
    name: 'string',
    tag: 'string',
    when: 'string',
    resourceFileRegexp: 'string',
    selectors: { list: SELECTOR },
    exclude: { list: SELECTOR },
  },
};

const CONDITION: FieldType = {
  fields: { type: 'string', status: 'string', reason: 'string', message: 'string' },
};

/** The fields of a Kptfile (kpt.dev/v1). kpt rejects all others. */
export const KPTFILE_FIELDS: FieldType = {
  fields: {
    apiVersion: 'string',
    kind: 'string',
    metadata: {
      fields: { name: 'string', namespace: 'string', labels: TEXTS, annotations: TEXTS },
    },
    upstream: {
      fields: { type: 'string', git: GIT, updateStrategy: 'string', preserveExplicitNull: 'any' },
    },
    upstreamLock: {
      fields: {
        type: 'string',
        git: {
          fields: { repo: 'string', directory: 'string', ref: 'string', commit: 'string' },
        },
        generic: {
          fields: { storeID: 'string', resourceID: 'string', resourceVersion: 'string' },
        },
      },
    },
    info: {
      fields: {
        site: 'string',
        email: 'string',
        emails: { list: 'string' },
        license: 'string',
        licenseFile: 'string',
        documentPath: 'string',
        description: 'string',
        keywords: { list: 'string' },
        man: 'string',
        readinessGates: { list: { fields: { conditionType: 'string' } } },
      },
    },
    pipeline: {
      fields: { mutators: { list: FUNCTION }, validators: { list: FUNCTION } },
    },
    inventory: {
      fields: {
        namespace: 'string',
        name: 'string',
        inventoryID: 'string',
        labels: TEXTS,
        annotations: TEXTS,
      },
    },
    // What a render did, which each render replaces.
    status: { fields: { conditions: { list: CONDITION }, renderStatus: 'any' } },
  },
};

/** A value of the wrong type, or an unknown field. */
export interface FieldProblem {
  path: Path;
  target: 'key' | 'value';
  message: string;
  /** What the value should be; absent for an unknown field. */
  expected?: 'string' | 'list' | 'mapping';
  /** The field is unknown, and the others decide what the Kptfile means. */
  isUnknown: boolean;
  /** Of an unknown field: the fields in its place. */
  known: readonly string[];
}

/** Compares a value with its type, as kpt's strict decoder does. */
export function checkFields(value: JsonValue | undefined, type: FieldType, path: Path = []): FieldProblem[] {
  if (value === undefined || value === null || type === 'any') return [];
  const wrong = (): FieldProblem[] => {
    const expected = type === 'string' ? 'string' : 'list' in type ? 'list' : 'mapping';
    const message = `${fieldName(path)} must be a ${expected}, not ${describeValue(value)}`;
    return [{ path, target: 'value', message, expected, isUnknown: false, known: [] }];
  };
  if (type === 'string') return typeof value === 'object' ? wrong() : [];
  if ('list' in type) {
    if (!Array.isArray(value)) return wrong();
    return value.flatMap((item, index) => checkFields(item, type.list, [...path, index]));
  }
  if (typeof value !== 'object' || Array.isArray(value)) return wrong();
  const keys = Object.keys(value);
  // A selector without a known field selects every resource, and an exclude none: most likely, a name is misspelled.
  const isEmptied =
    type === SELECTOR && keys.length > 0 && !keys.some((key) => Object.hasOwn(SELECTOR.fields, key));
  return Object.entries(value).flatMap(([key, held]): FieldProblem[] => {
    if ('values' in type) return checkFields(held, type.values, [...path, key]);
    if (Object.hasOwn(type.fields, key)) return checkFields(held, type.fields[key]!, [...path, key]);
    const message = `unknown field ${fieldName([...path, key])}`;
    return [
      {
        path: [...path, key],
        target: 'key',
        message,
        isUnknown: !isEmptied,
        known: Object.keys(type.fields),
      },
    ];
  });
}

function fieldName(path: Path): string {
  return path.length === 0 ? 'the Kptfile' : formatPath(path);
}
