import type { Child } from 'hono/jsx';
import { Banner } from '../parts/banner.js';
import { Text } from '../parts/text.js';
import { sentence } from '../sentence.js';

export interface FieldProblem {
  message: string;
  hint?: string | undefined;
}

/** What is wrong with the fields of a form. */
export type FieldProblems<Field extends string> = Partial<Record<Field, FieldProblem>>;

/** Attributes of an input that connect it with its description and its problem. */
export function fieldAttributes<Field extends string>(
  field: Field,
  problems: FieldProblems<Field>,
  { hasHint = true }: { hasHint?: boolean } = {},
) {
  const problem = problems[field];
  const described = [
    ...(problem === undefined ? [] : [`${field}-problem`]),
    ...(hasHint ? [`${field}-hint`] : []),
  ];
  const [first] = Object.keys(problems);
  return {
    ...(described.length === 0 ? {} : { 'aria-describedby': described.join(' ') }),
    ...(problem === undefined ? {} : { 'aria-invalid': 'true' as const }),
    ...(first === field ? { autofocus: true } : {}),
  };
}

/** The problem of a field, next to it. */
export function Problem<Field extends string>({
  field,
  problems,
}: {
  field: Field;
  problems: FieldProblems<Field>;
}) {
  const problem = problems[field];
  if (problem === undefined) return null;
  return (
    <span class="field-problem" id={`${field}-problem`}>
      <Text value={sentence(problem.message)} max={2_000} />
      {problem.hint === undefined ? null : (
        <>
          {' '}
          <Text value={problem.hint} max={500} />
        </>
      )}
    </span>
  );
}

/** Lists the problems above a form, with links to its fields. */
export function ProblemSummary<Field extends string>({
  title,
  problems,
  labels,
}: {
  title: string;
  problems: FieldProblems<Field>;
  labels: Readonly<Record<Field, Child>>;
}) {
  const fields = Object.keys(problems) as Field[];
  if (fields.length === 0) return null;
  return (
    <Banner tone="danger" title={title}>
      <ul>
        {fields.map((field) => (
          <li>
            <a href={`#${field}`}>{labels[field]}</a>:{' '}
            <Text value={problems[field]?.message ?? ''} max={500} />
          </li>
        ))}
      </ul>
    </Banner>
  );
}
