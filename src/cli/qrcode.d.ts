/** What is used of qrcode 1.5, which comes without types. */
declare module 'qrcode' {
  interface Settings {
    readonly margin?: number
    readonly scale?: number
    readonly errorCorrectionLevel?: 'L' | 'M' | 'Q' | 'H'
  }
  const qrcode: {
    toString(text: string, settings: Settings & { type: 'utf8' | 'svg' }): Promise<string>
    toBuffer(text: string, settings: Settings & { type: 'png' }): Promise<Uint8Array>
  }
  export default qrcode
}
