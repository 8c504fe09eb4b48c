import type { JsonValue } from '@krmhub/schema/definition';
import { isObject } from '@krmhub/schema/json/access';
import { RESULT_SEVERITIES } from '../output/function-result.js';

/** Returns what keeps `results` from the schema of the KRM Functions Specification v1, "Result". */
export function resultProblems(results: JsonValue | undefined): string[] {
  if (results === undefined || results === null) return [];
  if (!Array.isArray(results)) return ['`results` is not a list'];
  return results.flatMap((result, at) => ofResult(result).map((problem) => `results[${at}]${problem}`));
}

function ofResult(result: JsonValue): string[] {
  if (!isObject(result)) return [' is not a mapping'];
  const { message, severity, resourceRef, field, file, tags } = result;
  const problems: string[] = [];
  if (typeof message !== 'string') problems.push('.message is not text');
  else if (message.trim() === '') problems.push('.message is empty');
  if (severity !== undefined && !RESULT_SEVERITIES.some((known) => known === severity)) {
    problems.push(`.severity is ${JSON.stringify(severity)}, expected ${RESULT_SEVERITIES.join(', ')}`);
  }
  if (resourceRef !== undefined) {
    problems.push(...texts('.resourceRef', resourceRef, ['apiVersion', 'kind', 'name']));
  }
  if (field !== undefined) {
    problems.push(...texts('.field', field, ['path']));
    if (resourceRef === undefined) problems.push('.field is set without .resourceRef');
  }
  if (file !== undefined) problems.push(...ofFile(file));
  if (tags !== undefined) {
    const isFine = isObject(tags) && Object.values(tags).every((value) => typeof value === 'string');
    if (!isFine) problems.push('.tags is not a mapping of text');
  }
  return problems;
}

function ofFile(file: JsonValue): string[] {
  const problems = texts('.file', file, ['path']);
  if (problems.length > 0 || !isObject(file)) return problems;
  const { path, index } = file;
  if (typeof path === 'string' && (path.startsWith('/') || path.split('/').includes('..'))) {
    problems.push(`.file.path is ${JSON.stringify(path)}, expected a relative path`);
  }
  if (index !== undefined && (!Number.isInteger(index) || Number(index) < 0)) {
    problems.push(`.file.index is ${JSON.stringify(index)}, expected a number from 0`);
  }
  return problems;
}

function texts(name: string, value: JsonValue, fields: readonly string[]): string[] {
  if (!isObject(value)) return [`${name} is not a mapping`];
  return fields.flatMap((field) => {
    const text = value[field];
    return typeof text === 'string' && text !== '' ? [] : [`${name}.${field} is missing`];
  });
}
