import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Runs a module in a process of its own; gives what it prints. */
function run(code: string, ...flags: string[]): string {
  const args = [...flags, '--input-type=module', '--eval', code]
  return execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' }).trim()
}

const LOADED = `
  import { createRequire } from 'node:module'
  const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((it) => it.includes('liquidjs'))`

test('templates work where code may not be made of strings', () => {
  const code = `
    import { compileTemplate } from './src/sink/index.ts'
    const { template } = compileTemplate('{% for it in object.list %}{{ it | upcase }}{% endfor %}')
    let evaluated = true
    try { new Function('return 1')() } catch { evaluated = false }
    console.log(template.render({ event: {}, object: { list: ['a', 'b'] } }), evaluated)`
  expect(run(code, '--disallow-code-generation-from-strings')).toBe('AB false')
})

test('the template engine is loaded with the first template, and not by a configuration without one', () => {
  const load = (message: string) => `${LOADED}
    import { builtInSinks } from './src/sink-types.ts'
    import { loadConfig } from './src/config/load.ts'
    const text = ${JSON.stringify(
      `watch: [Pod]\nsinks: { a: { type: stdout }, b: { type: webhook, url: "https://a.example.com" } }\nrules: [{ name: r, to: [a, b], message: ${message} }]`,
    )}
    const { ok } = await loadConfig({ file: 'x.yaml', text, env: {}, readFile() {}, sinkTypes: builtInSinks })
    console.log(ok, loaded())`
  expect(run(load('{ title: plain, quote: false }'))).toBe('true false')
  expect(run(load('"{{ name }}"'))).toBe('true true')
})
