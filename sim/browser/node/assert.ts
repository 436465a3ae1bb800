/** The part of `node:assert` that find-my-way uses, for a browser. */

function assert(value: unknown, message = 'assertion failed'): void {
  if (value === false || value === null || value === undefined || value === 0 || value === '')
    throw new Error(message);
}

assert.equal = (actual: unknown, expected: unknown, message?: string): void => {
  assert(actual === expected, message);
};

// As CommonJS: `require('node:assert')` is the function itself.
export { assert as 'module.exports' };
