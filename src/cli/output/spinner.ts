/** By name: the bundle, which is CommonJS, takes the default export of a package that it loads on demand for another. */
export { default as ora } from 'ora'
