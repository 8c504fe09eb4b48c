import { hideInValue } from '@krmhub/schema/hide-passwords';
import { oneLine, pad, shorten, shortenStart, textWidth } from '@krmhub/schema/text';

export interface Column {
  header: string;
  /** Minimum width; without it, the column keeps its width as long as the others can become narrower. */
  min?: number;
  /** Its texts differ at the end, as files and lines do, so they are shortened at the start. */
  keepsEnd?: boolean;
}

const GAP = 2;
/** Minimum width of the columns that should keep their width, in a terminal that is too narrow for them. */
const LAST_RESORT = 8;

/** Formats a table that fits the width. It shortens the widest column that has a minimum first. */
export function terminalTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): string[] {
  const cells = rows.map((row) => row.map(cellText));
  const widths = columns.map((column, index) =>
    Math.max(textWidth(column.header), ...cells.map((row) => textWidth(row[index] ?? ''))),
  );
  let excess = widths.reduce((sum, one) => sum + one, 0) + GAP * (columns.length - 1) - width;
  while (excess > 0) {
    const widest =
      widestNarrowable(columns, widths) ??
      widestNarrowable(
        columns.map((column) => ({ min: LAST_RESORT, ...column })),
        widths,
      );
    if (widest === undefined) break;
    widths[widest]!--;
    excess--;
  }
  return [columns.map((column) => column.header), ...cells].map((row) =>
    columns
      .map(({ keepsEnd = false }, index) => {
        const fit = keepsEnd ? shortenStart : shorten;
        return pad(fit(row[index] ?? '', widths[index]!), widths[index]!);
      })
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
}

function widestNarrowable(columns: readonly Column[], widths: readonly number[]): number | undefined {
  let widest: number | undefined;
  for (const [index, column] of columns.entries()) {
    if (column.min === undefined || widths[index]! <= Math.max(column.min, textWidth(column.header)))
      continue;
    if (widest === undefined || widths[index]! > widths[widest]!) widest = index;
  }
  return widest;
}

/** Formats rows for programs: tab-separated, without a header, not shortened. */
export function pipeTable(rows: readonly (readonly string[])[]): string[] {
  return rows.map((row) => row.map(cellText).join('\t'));
}

/** A password must be hidden before its cell is cut. */
function cellText(text: string): string {
  return oneLine(hideInValue(text));
}
