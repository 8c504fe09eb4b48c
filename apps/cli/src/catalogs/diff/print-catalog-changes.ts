import {
  CATALOG_CHANGE_IMPACT_LABELS,
  CATALOG_CHANGE_IMPACTS,
  type CatalogChange,
  type CatalogChangeImpact,
} from '@krmhub/catalog';
import { escapeControls, pad, plural } from '@krmhub/schema/text';
import { changeLines, printCounts, printRows } from '../../io/change-lines.js';
import { type Io, paint, terminalWidth, write } from '../../io/io.js';
import { bold } from '../../io/print.js';

const COLORS = { breaking: 'red', review: 'yellow', quiet: 'dim' } as const satisfies Record<
  CatalogChangeImpact,
  string
>;

const LABEL_COLUMNS = 14;

/**
 * Prints changes by function; without a terminal, a line for each with function, severity, class, version and message.
 * Prints the counts on stderr.
 */
export async function printCatalogChanges(
  io: Io,
  title: string,
  changes: readonly CatalogChange[],
  { filtered }: { filtered: boolean },
): Promise<void> {
  const functions = groupByFunction(changes);
  if (io.stdout.isTTY === true) await printFunctions(io, title, functions);
  else {
    await printRows(
      io,
      changes.map((change) => [
        functionName(change),
        change.weight,
        change.class,
        change.version ?? '',
        change.message,
      ]),
    );
  }
  const count = (weight: CatalogChangeImpact) => changes.filter((change) => change.weight === weight).length;
  const where = ` in ${plural(functions.size, 'function')}${filtered ? ' (filtered)' : ''}`;
  await printCounts(
    io,
    CATALOG_CHANGE_IMPACTS.map((weight) => [count(weight), CATALOG_CHANGE_IMPACT_LABELS[weight].label]),
    where,
  );
}

async function printFunctions(
  io: Io,
  title: string,
  functions: ReadonlyMap<string, CatalogChange[]>,
): Promise<void> {
  const width = terminalWidth(io.stdout);
  const lines = [bold(io, escapeControls(title))];
  for (const [name, changes] of functions) {
    lines.push('', bold(io, escapeControls(name)));
    for (const { weight, version, message, class: name } of changes) {
      const { label } = CATALOG_CHANGE_IMPACT_LABELS[weight];
      const text = `${version === undefined ? '' : `${version}: `}${message} (${name})`;
      const painted = paint(io, io.stdout, COLORS[weight], pad(`  ${label}`, LABEL_COLUMNS));
      lines.push(...changeLines({ label: painted, labelWidth: LABEL_COLUMNS, message: text }, width));
    }
  }
  await write(io.stdout, `${lines.join('\n')}\n`);
}

function groupByFunction(changes: readonly CatalogChange[]): Map<string, CatalogChange[]> {
  const found = new Map<string, CatalogChange[]>();
  for (const change of changes) {
    const name = functionName(change);
    const known = found.get(name);
    if (known === undefined) found.set(name, [change]);
    else known.push(change);
  }
  return found;
}

function functionName({ group, kind }: CatalogChange): string {
  return `${group}/${kind}`;
}
