import { loadModule } from '@krmhub/functions/starlark/modules';
import {
  compile,
  Dict,
  EvaluationError,
  formatPosition,
  fromJavaScript,
  type JavaScriptValue,
  PERMISSIVE_DIALECT,
  parse,
  run,
  StarlarkSyntaxError,
  Struct,
  toJavaScript,
  type Value,
} from '@krmhub/starlark';
import { Document, parseDocument } from 'yaml';
import type { FunctionOutcome, StandInFunction } from './resource-list.js';
import { failed, ResourceList } from './resource-list.js';

/** The function starlark of the catalog of kpt: like it, this one loses comments and sorts the fields. */
export const starlark: StandInFunction = ({ text }) => {
  const list = new ResourceList(text);
  const { source, name, parameters } = scriptOf(list.config);
  if (source === undefined) return failed(list, '`source` must not be empty');
  const value = parseDocument(text).toJS() as Record<string, unknown>;
  if (!Array.isArray(value.items)) value.items = [];
  if (parameters !== undefined)
    value.functionConfig = { ...(value.functionConfig as object), params: parameters };
  const printed: string[] = [];
  const resourceList = fromJavaScript(value) as Dict;
  try {
    const program = compile(parse(source, { file: name }), {
      predeclared: ['ctx'],
      dialect: PERMISSIVE_DIALECT,
    });
    const ctx = new Struct('struct', [
      ['environment', new Dict()],
      ['open_api', new Dict()],
      ['resource_list', resourceList],
    ]);
    run(program, {
      predeclared: new Map<string, Value>([['ctx', ctx]]),
      load: loadModule,
      print: (line: string) => printed.push(`${line}\n`),
    });
  } catch (error) {
    return withPrinted(failed(list, messageOf(error)), printed);
  }
  return withPrinted({ stdout: emitSorted(toJavaScript(resourceList)) }, printed);
};

function withPrinted(outcome: FunctionOutcome, printed: readonly string[]): FunctionOutcome {
  return { ...outcome, stderr: printed.join('') + (outcome.stderr ?? '') };
}

function messageOf(error: unknown): string {
  if (error instanceof StarlarkSyntaxError) {
    const { file, line } = error.position;
    // The release of starlark-go in the image says where the next line begins.
    if (error.message.startsWith('got newline')) return `${file}:${line + 1}:1: ${error.message}`;
    return `${formatPosition(error.position)}: ${error.message}`;
  }
  if (error instanceof EvaluationError) return error.message;
  throw error;
}

interface Script {
  source: string | undefined;
  name: string;
  parameters?: unknown;
}

/** A StarlarkRun has the script in `source`, a ConfigMap in `data.source`. */
function scriptOf(config: Record<string, unknown> | undefined): Script {
  const metadata = config?.metadata as { name?: string } | undefined;
  const fields = (config?.kind === 'ConfigMap' ? config.data : config) as Record<string, unknown> | undefined;
  const { source, params } = fields ?? {};
  return {
    source: typeof source === 'string' && source !== '' ? source : undefined,
    name: metadata?.name ?? 'starlark',
    ...(config?.kind === 'ConfigMap' || params === undefined ? {} : { parameters: params }),
  };
}

function emitSorted(value: JavaScriptValue): string {
  return new Document(value, { sortMapEntries: true }).toString({ lineWidth: 0, indentSeq: false });
}
