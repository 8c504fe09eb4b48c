import { defined } from '@krmhub/schema/defined';
import type { Child, PropsWithChildren } from 'hono/jsx';
import { Words } from '../error/error-page.js';
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
  return defined({
    'aria-describedby': described.length === 0 ? undefined : described.join(' '),
    'aria-invalid': problem === undefined ? undefined : ('true' as const),
    autofocus: first === field ? true : undefined,
  });
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
          <Words text={problem.hint} />
        </>
      )}
    </span>
  );
}

/** A labeled input of a form with its problem. Its children describe it; further properties are those of the input. */
export function Field<Name extends string>({
  field,
  label,
  problems = {},
  name = field,
  children,
  ...input
}: PropsWithChildren<{
  /** ID of the input. */
  field: Name;
  label: Child;
  problems?: FieldProblems<Name>;
  /** Absent for the ID. */
  name?: string;
  value?: string;
  required?: boolean;
  type?: 'number';
  min?: number;
  max?: number;
  maxlength?: number;
  pattern?: string;
  /** ID of a list of values. */
  list?: string | undefined;
  autocomplete?: 'off';
  autocapitalize?: 'none' | 'characters';
  spellcheck?: boolean;
}>) {
  const hasHint = children !== undefined;
  return (
    <p class="entry">
      <label for={field}>{label}</label>
      {hasHint ? (
        <span class="quiet" id={`${field}-hint`}>
          {children}
        </span>
      ) : null}
      <input id={field} name={name} {...input} {...fieldAttributes(field, problems, { hasHint })} />
      <Problem field={field} problems={problems} />
    </p>
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
