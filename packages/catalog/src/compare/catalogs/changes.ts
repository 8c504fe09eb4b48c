import { compareApiVersions, type FunctionName } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { CompatibilityRule } from '../rules.js';
import {
  CATALOG_CHANGE_CLASSES,
  CATALOG_CHANGE_IMPACTS,
  type CatalogChange,
  type CatalogChangeClass,
} from './classes.js';

/** Maximum number of listed changes of one class in one API version. A schema can have thousands. */
const MAX_PER_CLASS = 20;
/** Maximum length of a message and of a value, in UTF-16 code units. */
const MAX_TEXT = 1_024;

const CLASS_ORDER = Object.keys(CATALOG_CHANGE_CLASSES);

export interface ChangeDetails {
  version?: string;
  rule?: CompatibilityRule;
  before?: string | undefined;
  after?: string | undefined;
}

/** Collects the changes of one function. */
export class FunctionChanges {
  readonly #changes: CatalogChange[] = [];
  readonly #counts = new Map<string, number>();
  readonly #seen = new Set<string>();

  constructor(private readonly name: FunctionName) {}

  /** A change that occurs twice, as for several executables, is reported once. */
  add(name: CatalogChangeClass, message: string, details: ChangeDetails = {}): void {
    const { version, rule, before, after } = details;
    const values = before === undefined && after === undefined ? [message] : [before, after];
    const said = JSON.stringify([version, name, ...values]);
    if (this.#seen.has(said)) return;
    this.#seen.add(said);
    const place = this.#key(version, name);
    const count = (this.#counts.get(place) ?? 0) + 1;
    this.#counts.set(place, count);
    if (count > MAX_PER_CLASS) return;
    this.#changes.push({
      group: this.name.group,
      kind: this.name.kind,
      ...defined({ version }),
      class: name,
      weight: CATALOG_CHANGE_CLASSES[name].weight,
      ...defined({ rule }),
      message: truncate(message),
      ...defined({
        before: before === undefined ? undefined : truncate(before),
        after: after === undefined ? undefined : truncate(after),
      }),
    });
  }

  has(name: CatalogChangeClass, version: string): boolean {
    return this.#counts.has(this.#key(version, name));
  }

  /** Compares changes: most severe first, then in table order, then preferred API versions first. */
  sorted(): CatalogChange[] {
    const counts = new Map<string, number>();
    for (const change of this.#changes) {
      const place = this.#key(change.version, change.class);
      const at = (counts.get(place) ?? 0) + 1;
      counts.set(place, at);
      const left = (this.#counts.get(place) ?? 0) - MAX_PER_CLASS;
      if (at === MAX_PER_CLASS && left > 0) change.message = `${change.message}; and ${left} similar changes`;
    }
    return this.#changes.sort(
      (a, b) =>
        CATALOG_CHANGE_IMPACTS.indexOf(a.weight) - CATALOG_CHANGE_IMPACTS.indexOf(b.weight) ||
        CLASS_ORDER.indexOf(a.class) - CLASS_ORDER.indexOf(b.class) ||
        compareVersions(a.version, b.version),
    );
  }

  #key(version: string | undefined, name: CatalogChangeClass): string {
    return `${name} ${version ?? ''}`;
  }
}

function compareVersions(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  return compareApiVersions(a, b);
}

function truncate(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text;
}
