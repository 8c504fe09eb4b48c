import type { JsonValue } from '@krmhub/schema/definition';
import type { Path } from '@krmhub/schema/diagnostic';

/** What a field of a Kptfile holds. */
export type FieldType =
  | 'string'
  | 'any'
  | { name: string; fields: Readonly<Record<string, FieldType>> }
  | { list: FieldType }
  | { values: 'string' };

const TEXTS: FieldType = { values: 'string' };

const GIT: FieldType = {
  name: 'v1.Git',
  fields: { repo: 'string', directory: 'string', ref: 'string' },
};

/** The version of kpt whose fields krmhub knows. */
export const KPT_VERSION = '1.0';

const SELECTOR = {
  name: 'v1.Selector',
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
  name: 'v1.Function',
  fields: {
    image: 'string',
    exec: 'string',
    configPath: 'string',
    configMap: TEXTS,
    configRef: {
      name: 'v1.ResourceReference',
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
  name: 'v1.Condition',
  fields: { type: 'string', status: 'string', reason: 'string', message: 'string' },
};

/** The fields of a Kptfile (kpt.dev/v1), by the names of kpt's types. kpt rejects all others. */
export const KPTFILE_FIELDS: FieldType = {
  name: 'v1.KptFile',
  fields: {
    apiVersion: 'string',
    kind: 'string',
    metadata: {
      name: 'yaml.ObjectMeta',
      fields: { name: 'string', namespace: 'string', labels: TEXTS, annotations: TEXTS },
    },
    upstream: {
      name: 'v1.Upstream',
      fields: { type: 'string', git: GIT, updateStrategy: 'string', preserveExplicitNull: 'any' },
    },
    upstreamLock: {
      name: 'v1.UpstreamLock',
      fields: {
        type: 'string',
        git: {
          name: 'v1.GitLock',
          fields: { repo: 'string', directory: 'string', ref: 'string', commit: 'string' },
        },
        generic: {
          name: 'v1.GenericLock',
          fields: { storeID: 'string', resourceID: 'string', resourceVersion: 'string' },
        },
      },
    },
    info: {
      name: 'v1.PackageInfo',
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
        readinessGates: { list: { name: 'v1.ReadinessGate', fields: { conditionType: 'string' } } },
      },
    },
    pipeline: {
      name: 'v1.Pipeline',
      fields: { mutators: { list: FUNCTION }, validators: { list: FUNCTION } },
    },
    inventory: {
      name: 'v1.Inventory',
      fields: {
        namespace: 'string',
        name: 'string',
        inventoryID: 'string',
        labels: TEXTS,
        annotations: TEXTS,
      },
    },
    // What a render did, which each render replaces.
    status: { name: 'v1.Status', fields: { conditions: { list: CONDITION }, renderStatus: 'any' } },
  },
};

/** A value of the wrong type, or an unknown field. */
export interface FieldProblem {
  path: Path;
  target: 'key' | 'value';
  /** In the words of kpt. */
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
    const message = `cannot unmarshal ${describe(value)} into ${typeName(type)}`;
    const expected = type === 'string' ? 'string' : 'list' in type ? 'list' : 'mapping';
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
    const message = `field ${key} not found in type ${type.name}`;
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

function typeName(type: Exclude<FieldType, 'any'>): string {
  if (type === 'string') return 'string';
  if ('list' in type) return `[]${typeName(type.list as Exclude<FieldType, 'any'>)}`;
  return 'values' in type ? 'map[string]string' : type.name;
}

/** As go-yaml names a value: its tag, and the text of a scalar. */
function describe(value: Exclude<JsonValue, null>): string {
  if (Array.isArray(value)) return '!!seq';
  if (typeof value === 'object') return '!!map';
  const tag = typeof value === 'string' ? 'str' : typeof value === 'boolean' ? 'bool' : 'int';
  const text = String(value);
  return `!!${tag} \`${text.length > 10 ? `${text.slice(0, 7)}...` : text}\``;
}
