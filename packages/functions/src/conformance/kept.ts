import { defined } from '@krmhub/schema/defined';
import type { JsonObject } from '@krmhub/schema/definition';
import { objectField, textField } from '@krmhub/schema/json/access';
import { runChain } from '../chain/run-chain.js';
import type { RunResult } from '../output/run-result.js';
import { ID, INDEX, PATH } from '../resource-list/annotations.js';
import type { Resource } from '../resource-list/resource.js';
import { firstDifference, orderDifference, resourceName } from './compare.js';
import { COMMENTS, MARK, UNKNOWN_FIELD } from './sample-resources.js';

/** What a function kept of the sample resources that it gave back. Each function returns the first problem. */

interface Pair {
  before: JsonObject;
  after: JsonObject;
  /** Id of the resource in the input. */
  id: string;
}

/** Finds the samples in an output: by what no function may change, else by their names. */
export function pairs(samples: readonly Resource[], items: readonly JsonObject[]): Pair[] {
  return samples.flatMap((sample, at) => {
    const before = sample.value() as JsonObject;
    const id = String(at + 1);
    const after =
      items.find(
        (item) => textField(readAnnotations(item), MARK) === textField(readAnnotations(before), MARK),
      ) ??
      items.find((item) => textField(readAnnotations(item), ID) === id) ??
      items.find((item) => resourceName(item) === resourceName(before));
    return after === undefined ? [] : [{ before, after, id }];
  });
}

export function lostField(found: readonly Pair[]): string | undefined {
  for (const { before, after } of found) {
    const [old, now] = [before[UNKNOWN_FIELD]!, after[UNKNOWN_FIELD]];
    if (now === undefined)
      return `${resourceName(before)} lost the field ${UNKNOWN_FIELD}, which the function does not know`;
    const at = firstDifference(old, now, UNKNOWN_FIELD);
    if (at !== undefined)
      return `${resourceName(before)} has another value at ${at}, which the function does not know`;
  }
  return undefined;
}

/** KRM Functions Specification v1, "Internal Annotations": path and index may change, and must not get lost. */
export function lostAnnotation(found: readonly Pair[]): string | undefined {
  for (const { before, after, id } of found) {
    const annotations = readAnnotations(after);
    for (const name of [PATH, INDEX]) {
      if (annotations?.[name] === undefined) return `${resourceName(before)} lost the annotation ${name}`;
    }
    const kept = { [MARK]: textField(readAnnotations(before), MARK), [ID]: id };
    for (const [name, value] of Object.entries(kept)) {
      const now = annotations?.[name];
      if (now === undefined) return `${resourceName(before)} lost the annotation ${name}`;
      if (String(now) !== value) return `${resourceName(before)} has another value of the annotation ${name}`;
    }
  }
  return undefined;
}

/** What the function gives back, after krmhub has restored what it can: comments, and the order of fields. */
export async function written(
  samples: readonly Resource[],
  functionConfig: string | undefined,
  result: RunResult,
): Promise<readonly Resource[]> {
  const step = {
    name: 'the function',
    type: 'mutator' as const,
    run: async () => result,
    ...defined({ functionConfig }),
    allowEmpty: true,
  };
  const { resources, failed } = await runChain(samples, [step]);
  if (failed?.error !== undefined) throw failed.error;
  return resources;
}

export function lostComment(
  samples: readonly Resource[],
  resources: readonly Resource[],
): string | undefined {
  for (const [before, after] of places(samples, resources)) {
    const [old, now] = [before.text(), after.text()];
    const lost = COMMENTS.find((comment) => old.includes(comment) && !now.includes(comment));
    if (lost !== undefined) return `${resourceName(before.value() as JsonObject)} lost the comment "${lost}"`;
  }
  return undefined;
}

export function movedField(samples: readonly Resource[], resources: readonly Resource[]): string | undefined {
  for (const [before, after] of places(samples, resources)) {
    const at = orderDifference(before.value(), after.value());
    if (at !== undefined)
      return `${resourceName(before.value() as JsonObject)} has the field ${at} in another place`;
  }
  return undefined;
}

function places(samples: readonly Resource[], resources: readonly Resource[]): [Resource, Resource][] {
  return samples.flatMap((before): [Resource, Resource][] => {
    const name = resourceName(before.value() as JsonObject);
    const after =
      resources.find(({ path, index }) => path === before.path && index === before.index) ??
      resources.find((one) => resourceName(one.value() as JsonObject) === name);
    return after === undefined ? [] : [[before, after]];
  });
}

function readAnnotations(item: JsonObject): JsonObject | undefined {
  return objectField(objectField(item, 'metadata'), 'annotations');
}
