/** In which styles a scalar can be written without changing it. */
export interface AllowedStyles {
  flowPlain: boolean;
  blockPlain: boolean;
  singleQuoted: boolean;
  block: boolean;
  multiline: boolean;
}

const ANY: AllowedStyles = {
  flowPlain: true,
  blockPlain: true,
  singleQuoted: true,
  block: true,
  multiline: false,
};
const EMPTY: AllowedStyles = { ...ANY, flowPlain: false, block: false };
const BLOCK_ONLY: AllowedStyles = { ...ANY, flowPlain: false };

/** Words and paths: nothing in them is special to YAML. */
const SIMPLE =
  /^(?:[0-9A-Za-z_/$(][^\x00-\x1f:?,[\]{}#\x7f-\uffff]*[^\x00-\x20:?,[\]{}#\x7f-\uffff]|[0-9A-Za-z_/$(])$/;
/** As above, and colons before other characters, as in images. */
const COLONS = /^[0-9A-Za-z_/](?:[^\x00-\x20:?,[\]{}#\x7f-\uffff]|:(?=[^\x00-\x20\x7f-\uffff]))*$/;

/** What go-yaml does not write as it is: control characters, U+FEFF, and what is above U+FFFD. */
const UNPRINTABLE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff\u{10000}-\u{10ffff}]/u;
const BREAK = /[\n\r\x85\u2028\u2029]/;

/** Which styles go-yaml 3 allows for a value. */
export function allowedStyles(value: string): AllowedStyles {
  if (value === '') return EMPTY;
  if (SIMPLE.test(value)) return ANY;
  if (COLONS.test(value)) return BLOCK_ONLY;
  return analyze(value);
}

function analyze(value: string): AllowedStyles {
  const multiline = BREAK.test(value);
  const special = UNPRINTABLE.test(value);
  const { flow, block } = indicators(value);
  const spaceBreak = multiline && / [\n\r\x85\u2028\u2029]/.test(value);
  const breakSpace = multiline && /[\n\r\x85\u2028\u2029] /.test(value);
  const edges = /^[ \n\r\x85\u2028\u2029]|[ \n\r\x85\u2028\u2029]$/.test(value);
  const tab = value.includes('\t');
  const plain = !(edges || breakSpace || spaceBreak || tab || special || multiline);
  return {
    flowPlain: plain && !flow && !block,
    blockPlain: plain && !block,
    singleQuoted: !(breakSpace || spaceBreak || tab || special),
    block: !(value.endsWith(' ') || spaceBreak || special),
    multiline,
  };
}

/** Whether the value has characters that mean something in flow collections, or everywhere. */
function indicators(value: string): { flow: boolean; block: boolean } {
  const mark = value.startsWith('---') || value.startsWith('...');
  const block =
    mark ||
    /^[#,[\]{}&*!|>'"%@`]/.test(value) ||
    /^[-?:](?:[ \t]|$)/.test(value) ||
    /.:(?:[ \t]|$)/s.test(value) ||
    /[ \t\n\r\x85\u2028\u2029]#/.test(value);
  return { block, flow: block || /^[?:]|.[,?[\]{}:]/s.test(value) };
}
