import { KrmhubError } from '@krmhub/schema/error';

/** What the arguments after `--` allow, and what of them kustomize gets. */
export interface KustomizeArguments {
  /** For kustomize itself. `krmhub build` starts executables, so kustomize never gets `--enable-exec`. */
  forwarded: readonly string[];
  enableAlphaPlugins: boolean;
  enableExec: boolean;
  /** Allows Starlark scripts that a functionConfig names itself; kustomize has no such flag since version 5.5. */
  enableStar: boolean;
  network: boolean;
  /** Flags of containers. They act on functions that name their own image. */
  containerFlags: readonly string[];
  /** Whether files may be outside of the folder of their kustomization. */
  anyFile: boolean;
}

/** Flags that this command acts on; it passes some of them on when a function needs them. */
const OWN_FLAGS = new Set(['--enable-alpha-plugins', '--enable-exec', '--enable-star', '--network']);

/** What functions of catalogs get is said by their catalog and by the options of krmhub. */
const CONTAINER_FLAGS = new Set(['--as-current-user', '--env', '-e', '--mount', '--network-name']);

/** Flags that take their value from the next argument; kustomize v5 and kubectl v1.32. */
const WITH_VALUE = new Set([
  '--env',
  '-e',
  '--helm-api-versions',
  '--helm-command',
  '--helm-kube-version',
  '--load-restrictor',
  '--mount',
  '--network-name',
  '--output',
  '-o',
  '--reorder',
]);

/** Reads the arguments after `--`, as the flag library of kustomize does. */
export function readKustomizeArguments(args: readonly string[]): KustomizeArguments {
  const forwarded: string[] = [];
  const containerFlags: string[] = [];
  const booleans = new Map<string, boolean>();
  let anyFile = false;
  for (let at = 0; at < args.length; at++) {
    const argument = args[at]!;
    if (!argument.startsWith('-') || argument === '-' || argument === '--') {
      throw new KrmhubError('usage', `unexpected argument after --: ${argument}`, {
        hint: 'Only flags of kustomize follow --, for example: krmhub build app -- --enable-helm',
      });
    }
    const [name = '', value] = splitOnce(argument);
    if (OWN_FLAGS.has(name)) {
      booleans.set(name, readBoolean(name, value));
      continue;
    }
    forwarded.push(argument);
    if (CONTAINER_FLAGS.has(name)) containerFlags.push(name);
    let given = value;
    if (given === undefined && WITH_VALUE.has(name)) {
      given = args[++at];
      if (given === undefined) throw new KrmhubError('usage', `${name} requires a value`);
      forwarded.push(given);
    }
    if (name === '--load-restrictor') anyFile = given === 'LoadRestrictionsNone';
  }
  const isSet = (name: string) => booleans.get(name) === true;
  return {
    forwarded,
    enableAlphaPlugins: isSet('--enable-alpha-plugins'),
    enableExec: isSet('--enable-exec'),
    enableStar: isSet('--enable-star'),
    network: isSet('--network'),
    containerFlags,
    anyFile,
  };
}

function splitOnce(argument: string): [string, string | undefined] {
  const at = argument.indexOf('=');
  return at === -1 ? [argument, undefined] : [argument.slice(0, at), argument.slice(at + 1)];
}

/** As Go's `strconv.ParseBool`. */
function readBoolean(name: string, value: string | undefined): boolean {
  if (value === undefined || /^(?:1|t|T|true|TRUE|True)$/.test(value)) return true;
  if (/^(?:0|f|F|false|FALSE|False)$/.test(value)) return false;
  throw new KrmhubError('usage', `${name}: ${value} is neither true nor false`);
}
