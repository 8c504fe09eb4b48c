import { KrmhubError } from '@krmhub/schema/error';

/** What a function gets from the arguments after `--`. */
export interface ConfigArguments {
  /** In place of ConfigMap: a first argument without `=`. */
  kind?: string;
  /** In the order of the arguments; the last of a key wins. */
  values: Readonly<Record<string, string>>;
}

/** Reads `[KIND] KEY=VALUE…`, as kpt does. Throws `usage`. */
export function readConfigArguments(args: readonly string[]): ConfigArguments {
  const [first] = args;
  const kind = first === undefined || first.includes('=') ? undefined : first;
  const values: Record<string, string> = {};
  for (const argument of kind === undefined ? args : args.slice(1)) {
    const at = argument.indexOf('=');
    if (at <= 0) {
      throw new KrmhubError('usage', `args must have keys and values separated by =: ${argument}`, {
        hint: 'Write the arguments of the function as KEY=VALUE after --.',
      });
    }
    Object.defineProperty(values, argument.slice(0, at), {
      value: argument.slice(at + 1),
      enumerable: true,
      configurable: true,
    });
  }
  return kind === undefined ? { values } : { kind, values };
}

/**
 * The functionConfig of these arguments, as YAML: a ConfigMap with the values as `data`, as kpt writes it. kpt replaces
 * the kind alone, so a kind of the user's has `apiVersion: v1` too.
 */
export function configMapText({ kind = 'ConfigMap', values }: ConfigArguments): string {
  return configText({ apiVersion: 'v1', kind }, 'data', values);
}

/**
 * The functionConfig of a function that is named by group, version, and kind. The values are its `spec`, as in the
 * guide of 2020, or its own fields if its schema has no `spec`.
 */
export function typedConfigText(
  type: { apiVersion: string; kind: string },
  values: ConfigArguments['values'],
  { hasSpec }: { hasSpec: boolean },
): string {
  return configText(type, hasSpec ? 'spec' : undefined, values, true);
}

function configText(
  { apiVersion, kind }: { apiVersion: string; kind: string },
  field: string | undefined,
  values: Readonly<Record<string, string>>,
  isTyped = false,
): string {
  const indent = field === undefined ? '' : '  ';
  const lines = Object.entries(values).map(
    ([key, value]) => `${indent}${scalar(key)}: ${isTyped && isTypedScalar(value) ? value : scalar(value)}\n`,
  );
  const head = `apiVersion: ${scalar(apiVersion)}\nkind: ${scalar(kind)}\nmetadata:\n  name: function-input\n`;
  if (field === undefined) return `${head}${lines.join('')}`;
  return `${head}${lines.length === 0 ? `${field}: {}\n` : `${field}:\n${lines.join('')}`}`;
}

/** A number or boolean, as YAML 1.2 and JSON have them. */
function isTypedScalar(text: string): boolean {
  return /^(?:true|false|-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?)$/.test(text);
}

/** Plain where every reader of YAML takes it for this text. */
function scalar(text: string): string {
  const isPlain =
    /^[A-Za-z_/][\w./@%+-]*(?::[\w./@%+-]+)*$/.test(text) &&
    !/^(?:y|n|yes|no|on|off|true|false|null|_+)$/i.test(text);
  return isPlain ? text : JSON.stringify(text);
}
