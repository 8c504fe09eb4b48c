declare module 'spdx-expression-parse' {
  export type Expression =
    | { license: string; plus?: true; exception?: string }
    | { left: Expression; conjunction: 'and' | 'or'; right: Expression };
  /** Throws an Error for what is not an SPDX license expression. */
  export default function parse(source: string): Expression;
}

declare module 'spdx-correct' {
  export default function correct(identifier: string, options?: { upgrade?: boolean }): string | null;
}
