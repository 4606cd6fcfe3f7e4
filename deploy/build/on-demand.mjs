// What makes the bundle start fast: what a package brings along is run when it is used.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Packages that are run when something of them is first used; `within`: only where this package asks for them. */
export function onDemand(root, packages) {
  const require = createRequire(`${root}/package.json`)
  const byName = new Map(packages.map((it) => [it.name, it]))
  return {
    name: 'on-demand',
    setup(build) {
      build.onResolve({ filter: /./ }, ({ path, importer, namespace, resolveDir }) => {
        const known = byName.get(path)
        if (!known || namespace === 'on-demand') return undefined
        if (known.within && !importer.includes(`/node_modules/${known.within}/`)) return undefined
        return { path: path.startsWith('.') ? join(resolveDir, path) : path, namespace: 'on-demand' }
      })
      build.onLoad({ filter: /./, namespace: 'on-demand' }, ({ path }) => ({
        contents: Object.keys(require(path))
          .filter((key) => key !== '__esModule')
          .map((key) =>
            getter('module.exports', key, `require(${JSON.stringify(path)})[${JSON.stringify(key)}]`),
          )
          .join('\n'),
        resolveDir: root,
        loader: 'js',
      }))
    },
  }
}

/** A module in CommonJS that runs others when what they export is first used: all of them, or `only` these. */
export function requiresOnDemand(file, only) {
  return {
    name: `requires-on-demand-${file}`,
    setup(build) {
      build.onLoad({ filter: file }, ({ path }) => ({
        contents: onFirstUse(readFileSync(path, 'utf8'), only),
        loader: 'js',
      }))
    },
  }
}

const REQUIRED = /^const (\w+) = (require\('[^']+'\)(?:\.\w+)?);?$/
const REQUIRED_PARTS = /^const \{ ([\w, ]+) \} = (require\('[^']+'\)|\w+);?$/
const EXPORTED = /^(module\.exports(?:\.\w+)*?)\.(\w+) = (.*[^{(,]);?$/
const MEMBER = /^(\s+)(\w+): (require\('[^']+'\)),?$/

/** The text of a module, with each `require` at the place where its result is used, and exports that are got when asked for. */
export function onFirstUse(text, only) {
  const expressions = new Map()
  const withRequires = (line) =>
    line.replaceAll(/(?<![.\w$'"/])\w+\b(?!['":])/g, (word) =>
      expressions.has(word) ? `(${expressions.get(word)})` : word,
    )
  const lines = text.split('\n').map((line) => {
    const [, name, expression] = REQUIRED.exec(line) ?? []
    if (name && (!only || only.includes(name))) {
      expressions.set(name, expression)
      return ''
    }
    const [, names, from] = REQUIRED_PARTS.exec(line) ?? []
    if (!names || only) return line
    for (const part of names.split(', ')) expressions.set(part, `${expressions.get(from) ?? from}.${part}`)
    return ''
  })
  if (only) return lines.map(withRequires).join('\n')
  return lines
    .map((line) => {
      const [, indent, member, required] = MEMBER.exec(line) ?? []
      if (member) return `${indent}get ${member}() { return ${required} },`
      const [, object, name, value] = EXPORTED.exec(line) ?? []
      return name ? getter(object, name, withRequires(value)) : withRequires(line)
    })
    .join('\n')
}

function getter(object, name, expression) {
  const place = `${object}, ${JSON.stringify(name)}`
  const kept = `Object.defineProperty(${place}, { value, writable: true, enumerable: true, configurable: true })`
  return `Object.defineProperty(${place}, { get() { const value = ${expression}; ${kept}; return value }, enumerable: true, configurable: true })`
}
