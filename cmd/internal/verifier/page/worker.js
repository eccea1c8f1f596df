// SPDX-License-Identifier: Apache-2.0


// The worker of the verifier page: behind Go's own glue, it runs the program.
self.onmessage = async ({ data: bytes }) => {
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(bytes, go.importObject);
  self.noisewrightReady = () => {
    self.onmessage = ({ data }) => {
      const text = data.verify !== undefined ? self.noisewrightVerify(data.verify) : self.noisewrightDraw(data.value, data.count);
      self.postMessage(text);
    };
    self.postMessage("{}");
  };
  go.run(instance);
};
