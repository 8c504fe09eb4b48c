import type { Comprehension, Expression } from '../syntax/tree.js';
import type { CodeWriter } from './code-writer.js';

/**
 * Writes a loop over an atom. `body` gets the element as an atom. Ranges are counted, not stored; lists and dicts
 * cannot be changed while the loop runs.
 */
export function generateLoop(
  writer: CodeWriter,
  value: string,
  offset: number,
  body: (element: string) => void,
): void {
  const n = writer.unique();
  for (const letter of ['s', 'q', 'n', 'b', 'd', 'i', 'e', 'l']) writer.declare(`${letter}${n}`);
  writer.loops.push(`l${n}`);
  writer.openLoops.push(`l${n}`);
  writer.at(offset, `s${n}=startLoop(thread,${value});l${n}=${value};`);
  writer.write(`q${n}=loopKind(s${n});n${n}=loopLength(s${n});`);
  writer.write(`if(q${n}===0){b${n}=s${n}.start;d${n}=s${n}.step;}`);
  writer.write(`for(i${n}=0;i${n}<n${n};i${n}++){`);
  writer.write('if(--thread.fuel<0)thread.refuel();');
  writer.write(
    `e${n}=q${n}===0?b${n}+i${n}*d${n}:q${n}===1?s${n}[i${n}]:nextElement(s${n});if(e${n}===undefined)break;`,
  );
  writer.maybe(() => body(`e${n}`));
  writer.write('}');
  writer.write(`endLoop(l${n});l${n}=undefined;`);
  writer.openLoops.pop();
}

/** Elements of a comprehension between two counts of its memory. */
const COUNTED = 1024;
/** Memory of an element of a list, and of a list in addition. */
const ELEMENT_BYTES = 16;
const LIST_BYTES = 32;

/** Writes a list or dict comprehension. */
export function generateComprehension(writer: CodeWriter, { body, clauses }: Comprehension): string {
  const result = writer.declare(`r${writer.unique()}`);
  const isDict = 'colon' in body;
  writer.write(isDict ? `${result}=new Dict();` : `${result}=[];`);
  const generate = (index: number): void => {
    const clause = clauses[index];
    if (clause === undefined) {
      writeElement(writer, result, body);
    } else if (clause.kind === 'if') {
      writer.write(`if(${writer.condition(clause.condition)}){`);
      generate(index + 1);
      writer.write('}');
    } else {
      const iterable = writer.expression(clause.iterable);
      generateLoop(writer, iterable, clause.iterable.start, (element) => {
        writer.assign(clause.target, element, clause.target.start);
        generate(index + 1);
      });
    }
  };
  generate(0);
  if (isDict) return result;
  const list = writer.temporary();
  writer.write(`thread.allocate(${LIST_BYTES}+${result}.length%${COUNTED}*${ELEMENT_BYTES});`);
  writer.write(`${list}=new List(${result});`);
  return list;
}

function writeElement(writer: CodeWriter, result: string, body: Comprehension['body']): void {
  if ('colon' in body) {
    const key = writer.expression(body.key);
    const value = writer.expression(body.value);
    writer.at(body.colon, `setEntry(thread,${result},${key},${value});`);
    return;
  }
  const element: Expression = body;
  writer.write(`${result}.push(${writer.expression(element)});`);
  writer.write(`if(${result}.length%${COUNTED}===0)thread.allocate(${COUNTED * ELEMENT_BYTES});`);
}
