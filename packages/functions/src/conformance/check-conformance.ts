/**
 * Checks whether a function conforms to the KRM Functions Specification v1 (`krmhub test`).
 *
 * @module
 */

import type { JsonObject } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { fromJson, readDocument, toJson, writeDocument } from '@krmhub/schema/resource-yaml';
import { decodeResourceList } from '../resource-list/decode.js';
import { encodeResourceList, type ResourceListVersion } from '../resource-list/encode.js';
import type { Resource } from '../resource-list/resource.js';
import { type Check, failed, type Outcome, PASSED, skipped, unless } from './check.js';
import { setDifference } from './compare.js';
import { lostAnnotation, lostComment, lostField, movedField, pairs, written } from './kept.js';
import { type Observation, observe, type RunFunction } from './observe.js';
import { resultProblems } from './result-problems.js';
import { sampleResources, shuffled } from './sample-resources.js';

/** A function to check, and what its definition says about it. */
export interface Subject {
  run: RunFunction;
  /** One that its schema accepts. */
  functionConfig: JsonObject;
  /** Whether the functionConfig has more than its type and metadata. */
  hasFields: boolean;
  /** One that its schema rejects, and why. */
  rejectedConfig?: { value: JsonObject; reason: string };
  idempotent: boolean;
  /** Inputs of its examples, for a function that fails for resources that it does not expect. */
  inputs: readonly { name: string; resources: readonly Resource[] }[];
}

/** Names of the checks, in their order. */
export const CHECK_NAMES = [
  'resource-list',
  'unknown-fields',
  'field-order',
  'comments',
  'internal-annotations',
  'json-input',
  'v1beta1-input',
  'deterministic',
  'idempotent',
  'function-config',
  'rejects-config',
  'rejects-input',
  'results',
] as const;
export type CheckName = (typeof CHECK_NAMES)[number];

/** Orders of the input, besides the one of the files. */
const SEEDS = [1, 2];
const UNREADABLE = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [{"apiVersion": "v1",\n';

/** The input on which the function succeeded. */
interface Base {
  resources: readonly Resource[];
  isSample: boolean;
  observed: Observation;
}

/**
 * Checks a function against the KRM Functions Specification v1 and what its users rely on. `report` gets each check as
 * it ends. Rejects with errors that are not of the function.
 */
export async function checkConformance(
  subject: Subject,
  report: (check: Check) => Promise<void>,
): Promise<void> {
  const checker = new Checker(subject);
  const { base, outcome } = await checker.findBase();
  await report({ name: 'resource-list', ...outcome });
  for (const name of CHECK_NAMES.slice(1)) {
    await report({ name, ...(await checker.check(name, base)) });
  }
}

class Checker {
  readonly #subject: Subject;
  readonly #config: string;
  /** All runs, for the check of results. */
  readonly #seen: Observation[] = [];

  constructor(subject: Subject) {
    this.#subject = subject;
    this.#config = writeDocument(fromJson(subject.functionConfig));
  }

  async findBase(): Promise<{ base?: Base; outcome: Outcome }> {
    const samples = { name: 'generated resources', resources: sampleResources() };
    const failures: string[] = [];
    for (const { name, resources } of [samples, ...this.#subject.inputs]) {
      const observed = await this.#run(this.#encode(resources));
      if (observed.failure === undefined) {
        return { base: { resources, isSample: failures.length === 0, observed }, outcome: PASSED };
      }
      failures.push(`${name}: ${observed.failure}`);
      // It did not reject the input: it broke the contract.
      if (observed.exitCode === 0) break;
    }
    return { outcome: failed(failures.join('; ')) };
  }

  async check(name: CheckName, base: Base | undefined): Promise<Outcome> {
    if (name === 'results') return this.#results();
    // Also that it rejects something says nothing then.
    if (base === undefined) return skipped('the function fails for every input');
    switch (name) {
      case 'json-input':
        return this.#sameFor(base, toJsonText(this.#encode(base.resources)), 'the same input as JSON');
      case 'v1beta1-input':
        return this.#sameFor(
          base,
          this.#encode(base.resources, { apiVersion: 'config.kubernetes.io/v1beta1' }),
          'a ResourceList v1beta1',
        );
      case 'deterministic':
        return this.#deterministic(base);
      case 'idempotent':
        return this.#idempotent(base);
      case 'function-config':
        return this.#readsConfig(base);
      case 'rejects-config':
        return this.#rejectsConfig(base);
      case 'rejects-input':
        return this.#rejects(UNREADABLE, 'input that ends in the middle of a list');
      default:
        return this.#keeps(name, base);
    }
  }

  async #keeps(name: CheckName, { resources, isSample, observed }: Base): Promise<Outcome> {
    if (!isSample) return skipped('the function rejects the generated resources');
    const found = pairs(resources, observed.items);
    if (found.length === 0) return skipped('the function returns none of the generated resources');
    if (name === 'unknown-fields') return unless(lostField(found));
    if (name === 'internal-annotations') return unless(lostAnnotation(found));
    try {
      const after = await written(resources, this.#config, observed.result!);
      return unless((name === 'comments' ? lostComment : movedField)(resources, after));
    } catch (error) {
      if (!(error instanceof KrmhubError)) throw error;
      return failed(`the output cannot be written to files: ${error.message}`);
    }
  }

  async #deterministic(base: Base): Promise<Outcome> {
    const same = await this.#sameFor(base, this.#encode(base.resources), 'the same input');
    if (same.status === 'failed') return same;
    for (const seed of SEEDS) {
      const input = this.#encode(shuffled(base.resources, seed));
      const outcome = await this.#sameFor(base, input, 'the same resources in another order');
      if (outcome.status === 'failed') return outcome;
    }
    return PASSED;
  }

  async #idempotent({ observed }: Base): Promise<Outcome> {
    if (!this.#subject.idempotent) return skipped('the definition does not claim it');
    const output = Buffer.from(observed.result!.output).toString();
    const again = await this.#run(this.#encode(decodeResourceList(output).resources));
    if (again.failure !== undefined) return failed(`for its own output, ${again.failure}`);
    const difference = setDifference(observed.items, again.items);
    return unless(difference === undefined ? undefined : `a second run changes its output: ${difference}`);
  }

  async #readsConfig({ resources, observed }: Base): Promise<Outcome> {
    if (!this.#subject.hasFields) return skipped('its functionConfig has no fields');
    const without = await this.#run(this.#encode(resources, { config: undefined }));
    const isSame =
      without.failure === undefined &&
      setDifference(observed.items, without.items) === undefined &&
      JSON.stringify(observed.results) === JSON.stringify(without.results);
    if (!isSame) return PASSED;
    const input = resources.map((resource) => resource.value() as JsonObject);
    const isUnchanged = setDifference(input, observed.items.map(withoutInternal)) === undefined;
    if (isUnchanged) return skipped('the function does not change this input');
    return failed('the output is the same without the functionConfig');
  }

  async #rejectsConfig({ resources }: Base): Promise<Outcome> {
    const { rejectedConfig } = this.#subject;
    if (rejectedConfig === undefined)
      return skipped('its schema accepts every functionConfig that was tried');
    const config = writeDocument(fromJson(rejectedConfig.value));
    const input = this.#encode(resources, { config });
    return this.#rejects(input, `a functionConfig that its schema rejects (${rejectedConfig.reason})`);
  }

  async #rejects(input: string, what: string): Promise<Outcome> {
    const { exitCode, hasExplained } = await this.#run(input);
    if (exitCode === 0) return failed(`it exited with 0 for ${what}`);
    if (hasExplained) return PASSED;
    return failed(`it exited with ${exitCode} for ${what}, without an error result or a message on stderr`);
  }

  #results(): Outcome {
    const [problem] = this.#seen.flatMap(({ results }) => resultProblems(results));
    if (problem !== undefined) return failed(problem);
    return this.#seen.some(({ results }) => Array.isArray(results) && results.length > 0)
      ? PASSED
      : skipped('the function wrote no results');
  }

  async #sameFor({ observed }: Base, input: string, what: string): Promise<Outcome> {
    const { failure, items } = await this.#run(input);
    if (failure !== undefined) return failed(`for ${what}, ${failure}`);
    const difference = setDifference(observed.items, items);
    return unless(difference === undefined ? undefined : `for ${what}, the output differs: ${difference}`);
  }

  async #run(input: string): Promise<Observation> {
    const observed = await observe(this.#subject.run, input);
    this.#seen.push(observed);
    return observed;
  }

  #encode(
    resources: readonly Resource[],
    options: { config?: string | undefined; apiVersion?: ResourceListVersion } = {},
  ): string {
    const functionConfig = 'config' in options ? options.config : this.#config;
    return encodeResourceList(resources, { functionConfig, apiVersion: options.apiVersion, ids: true });
  }
}

function toJsonText(yaml: string): string {
  return `${JSON.stringify(toJson(readDocument(yaml, 'the input')!), undefined, 2)}\n`;
}

/** A resource as it is in its file. */
function withoutInternal(item: JsonObject): JsonObject {
  const text = writeDocument(
    fromJson({ apiVersion: 'config.kubernetes.io/v1', kind: 'ResourceList', items: [item] }),
  );
  return decodeResourceList(text).resources[0]!.value() as JsonObject;
}
