import type { JsonObject } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { objectField, textField } from '@krmhub/schema/json/access';
import { kebabCase } from '@krmhub/schema/kebab-case';
import { fromJson, toJson } from '@krmhub/schema/resource-yaml';
import { escapeControls } from '@krmhub/schema/text';
import type { Layer, ListedFunction } from '../../function-configs/layers.js';
import type { PlannedFunction } from './planned-function.js';
import { setRuntime } from './set-runtime.js';

/**
 * A Composition as a kustomization (KEP-2906, Stories 3 and 4; KEP-2299): its modules run one after the other, as
 * transformers. Without resources, kustomize gives the first one its own functionConfig as the only item, and drops
 * that from the result. Built-in generators cannot be transformers, so they can only be at the start.
 */
export function compositionText(
  { file, modules = [], functions }: Layer,
  planned: ReadonlyMap<ListedFunction, PlannedFunction>,
): string {
  const plans = new Map(functions.map((listed) => [listed.module, planned.get(listed)]));
  const generators: string[] = [];
  const transformers: string[] = [];
  for (const [index, module] of modules.entries()) {
    const plan = plans.get(index);
    const isGenerator = plan === undefined && /Generator$/.test(String(module.kind));
    if (isGenerator && transformers.length > 0) throw misplaced(file, module);
    (isGenerator ? generators : transformers).push(moduleText(module, plan));
  }
  const apiVersion = 'kustomize.config.k8s.io/v1beta1';
  return JSON.stringify({ apiVersion, kind: 'Kustomization', generators, transformers });
}

function moduleText(module: JsonObject, plan: PlannedFunction | undefined): string {
  if (plan === undefined) return JSON.stringify(named(module));
  const config = fromJson(module);
  setRuntime(config, plan);
  return JSON.stringify(toJson(config));
}

/** kustomize takes a builtin without a name for a path. The default name is that of KEP-2299. */
function named(module: JsonObject): JsonObject {
  const metadata = objectField(module, 'metadata') ?? {};
  if (textField(metadata, 'name') !== undefined) return module;
  return { ...module, metadata: { ...metadata, name: kebabCase(String(module.kind)) } };
}

function misplaced(file: string, { kind }: JsonObject): KrmhubError {
  return new KrmhubError(
    'unsupported',
    escapeControls(`${file}: the builtin ${kind} comes after a module that is not a builtin generator`),
    {
      hint: 'Move builtin generators to the start of the modules.',
    },
  );
}
