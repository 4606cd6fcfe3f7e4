import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'

const { onFirstUse } = (await import(new URL('../deploy/build/on-demand.mjs', import.meta.url).href)) as {
  onFirstUse(text: string, only?: readonly string[]): string
}
const UNDICI = createRequire(import.meta.url).resolve('undici')

/** Runs the text of a module as CommonJS; `required` are the modules that it asks for itself, as they come. */
function runModule(text: string, path: string) {
  const load = createRequire(path)
  const required: string[] = []
  const module = { exports: {} as Record<string, unknown> }
  const requireNoted = (name: string) => {
    required.push(name)
    return load(name)
  }
  new Function('module', 'exports', 'require', text)(module, module.exports, requireNoted)
  return { exports: module.exports, required }
}

test('a module that gathers others exports the same as before, and runs what is used', () => {
  const text = readFileSync(UNDICI, 'utf8')
  const usual = runModule(text, UNDICI)
  const later = runModule(onFirstUse(text), UNDICI)
  expect(later.required).toEqual([
    './lib/dispatcher/dispatcher',
    './lib/api',
    './lib/core/util',
    './lib/core/util',
  ])
  expect(usual.required.length).toBeGreaterThan(40)
  expect(later.exports['Agent']).toBe(usual.exports['Agent'])
  expect(later.required.slice(4)).toEqual(['./lib/dispatcher/agent'])
  expect(Object.keys(later.exports).toSorted()).toEqual(Object.keys(usual.exports).toSorted())
  for (const [name, value] of Object.entries(usual.exports)) {
    expect(typeof later.exports[name], name).toBe(typeof value)
    // Classes are theirs; some functions and objects are made anew by each run.
    if (/^[A-Z]/.test(name)) expect(later.exports[name], name).toBe(value)
  }
})

test('what is asked for later is asked for at its place, and the rest as before', () => {
  const text =
    "const later = require('./later')\nconst now = require('./now')\nmodule.exports = () => [later(1), now.later, 'later']"
  expect(onFirstUse(text, ['later'])).toBe(
    "\nconst now = require('./now')\nmodule.exports = () => [(require('./later'))(1), now.later, 'later']",
  )
})

test('what is exported is made once', () => {
  const text = "const { Store } = require('./store')\nmodule.exports.store = new Store()"
  let made = 0
  class Store {
    number = ++made
  }
  const module = { exports: {} as Record<string, unknown> }
  new Function('module', 'require', onFirstUse(text))(module, () => ({ Store }))
  expect(made).toBe(0)
  expect(module.exports['store']).toBe(module.exports['store'])
  expect(made).toBe(1)
})
